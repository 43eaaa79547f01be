/* A plugin of QEMU that counts instructions; the declarations are those of its plugin interface, version 1. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t id;
struct qemu_plugin_tb;
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
void qemu_plugin_register_vcpu_tb_trans_cb(id, void (*)(id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, int, void *, uint64_t);
void qemu_plugin_register_atexit_cb(id, void (*)(id, void *), void *);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;
static uint64_t count;

static void translated(id self, struct qemu_plugin_tb *block)
{
    (void)self;
    qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &count, qemu_plugin_tb_n_insns(block));
}

static void at_exit(id self, void *nothing)
{
    (void)self;
    (void)nothing;
    fprintf(stderr, "instructions %llu\n", (unsigned long long)count);
}

__attribute__((visibility("default"))) int qemu_plugin_install(id self, const void *info, int argc, char **argv)
{
    (void)info;
    (void)argc;
    (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(self, translated);
    qemu_plugin_register_atexit_cb(self, at_exit, NULL);
    return 0;
}
