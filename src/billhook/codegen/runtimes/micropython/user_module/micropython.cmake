# For ports that are built by CMake (esp32, rp2): make USER_C_MODULES=this file
add_library(usermod_billhook INTERFACE)
target_sources(usermod_billhook INTERFACE ${CMAKE_CURRENT_LIST_DIR}/modbillhook.c ${CMAKE_CURRENT_LIST_DIR}/billhook.c)
target_include_directories(usermod_billhook INTERFACE ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(usermod INTERFACE usermod_billhook)
