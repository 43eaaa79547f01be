# For ports that are built by make: make USER_C_MODULES=the folder above this one
BILLHOOK_DIR := $(USERMOD_DIR)
SRC_USERMOD_C += $(BILLHOOK_DIR)/modbillhook.c $(BILLHOOK_DIR)/billhook.c
CFLAGS_USERMOD += -I$(BILLHOOK_DIR)
