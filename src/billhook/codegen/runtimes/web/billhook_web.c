/* The reader for WebAssembly: one model in each instance, in the memory behind the program. */
#include "billhook.h"

#define EXPORTED(name) __attribute__((export_name(#name))) name

extern unsigned char __heap_base;
static bh_model model;

unsigned char *EXPORTED(heap)(void) { return &__heap_base; }

int EXPORTED(open)(const void *blob, size_t size, int32_t *scratch, size_t n_scratch)
{
    return bh_open(&model, blob, size, scratch, n_scratch);
}

uint32_t EXPORTED(scratch)(void) { return model.n_scratch; }

uint32_t EXPORTED(kind)(void) { return model.kind; }

uint32_t EXPORTED(features)(void) { return BH_N_FEATURES(&model); }

uint32_t EXPORTED(classes)(void) { return BH_N_CLASSES(&model); }

uint32_t EXPORTED(columns)(void) { return BH_N_SCORES(&model); }

const int32_t *EXPORTED(scores)(const float *x) { return bh_scores(&model, x); }

int EXPORTED(predict)(const float *x) { return bh_predict(&model, x); }
