"""What an adaptive arithmetic code takes to read on an Arduino Uno; used by bytes_at_most.py."""

import numpy as np
from firmware import Firmware, Model

# Reads decisions of one context from made-up bytes.
DECODER = r"""
#include <stdint.h>
#include "row.h"
#if defined(__AVR__)
#include <avr/pgmspace.h>
#define BYTE(at) pgm_read_byte(data + (at))
#else
#define PROGMEM
#define BYTE(at) data[at]
#endif
static const uint8_t data[] PROGMEM = { DATA };
static uint32_t range, code;
static uint16_t at;

static __attribute__((noinline)) uint8_t decide(uint16_t *share)
{
    uint32_t bound = (range >> 11) * *share;
    uint8_t bit = code >= bound;
    if (bit) {
        range -= bound;
        code -= bound;
        *share = (uint16_t)(*share - (*share >> 5));
    } else {
        range = bound;
        *share = (uint16_t)(*share + ((2048 - *share) >> 5));
    }
    if (range < (uint32_t)1 << 24) {
        range <<= 8;
        code = code << 8 | BYTE(at);
        at++;
    }
    return bit;
}

int answer(const row_t *x)
{
    uint16_t share = 1024, k;
    int ones = 0;
    range = 0xFFFFFFFF;
    code = (uint32_t)BYTE(1) << 24 | (uint32_t)BYTE(2) << 16 | (uint16_t)(BYTE(3) << 8) | BYTE(4);
    at = (uint16_t)(5 + (x[0] & 1));
    for (k = 0; k < N_DECISIONS; k++)
        ones += decide(&share);
    return ones;
}
"""
N_DECISIONS = 256


def cycles_of_decision() -> float:
    """Return the cycles of an Arduino Uno for one decision of an adaptive code."""
    some = ", ".join(map(str, np.random.default_rng(0).integers(0, 256, N_DECISIONS).tolist()))
    source = DECODER.replace("DATA", some).replace("N_DECISIONS", str(N_DECISIONS))
    rows = np.arange(4, dtype=np.int16)[:, None]
    firmware = Firmware(Model(source, "int16_t"), rows)
    firmware.on_host(rows, 1)
    found = firmware.on("arduino-uno")
    assert not found.problem, found.problem
    return found.count / N_DECISIONS
