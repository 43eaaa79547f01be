// Predicts with the model in flash until another comes over the serial line, which is used from then on.
// On the computer, send the letter R, the size in two bytes, lowest first, and the blob:
//   python3 -c "import sys; b = open('new.bhm', 'rb').read(); sys.stdout.buffer.write(b'R' + len(b).to_bytes(2, 'little') + b)" > /dev/ttyACM0
// Write it with `billhook emit MODEL --blob new.bhm --no-names`: without names it is smaller.

#include <billhook.h>
#include <billhook_replace.h>
#include <${prefix}_blob.h>

const size_t SCRATCH = 2 * ${upper}_SCRATCH;  // a new model may need more than this one
int32_t scratch[SCRATCH];
bh_model model;
billhook_replacement replacement;
int which;

void open_newest() {
  which = billhook_open_newest(&model, ${prefix}_blob, sizeof ${prefix}_blob, scratch, SCRATCH);
  Serial.println(which < 0 ? "no model" : which ? "the new model" : "the model in flash");
}

void setup() {
  Serial.begin(9600);  // slow enough for the EEPROM, which takes 3.3 ms a byte
  open_newest();
}

void loop() {
  static float x[${upper}_N_FEATURES];  // put your measurements here
  int last = BILLHOOK_WAITING;
  while (Serial.available()) {
    last = billhook_receive(&replacement, (uint8_t)Serial.read());
    if (last == BILLHOOK_COMPLETE) {
      open_newest();
    }
    if (last == BILLHOOK_NO_ROOM) {
      Serial.println("too large");
    }
  }
  if (replacement.state == 0 && which >= 0 && BH_N_FEATURES(&model) == ${upper}_N_FEATURES) {
    Serial.println($call);
    delay(1000);
  }
}
