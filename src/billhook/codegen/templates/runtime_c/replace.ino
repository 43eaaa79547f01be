// Predicts with the model in flash until another comes over the serial line, which is used from then on.
// Write it with `billhook emit MODEL --blob new.bhm --no-names`: without names it is smaller. On the computer, send the
// letter R, the size in two bytes, lowest first, and the blob, with Python and pyserial (pip install pyserial):
//
//   import serial, time
//   blob = open("new.bhm", "rb").read()
//   with serial.Serial("/dev/ttyACM0", 2400, timeout=3) as port:
//       time.sleep(2)  # opening the port resets many boards, and the boot loader swallows what comes at once
//       port.reset_input_buffer()
//       port.write(b"R" + len(blob).to_bytes(2, "little") + blob)
//       port.flush()
//       print(port.readline().decode(), port.readline().decode())

#include <billhook.h>
#include <billhook_replace.h>
#include <${prefix}_blob.h>

const size_t SCRATCH = 2 * ${upper}_SCRATCH;  // a new model may need more than this one
const unsigned long PATIENCE = 1000;  // milliseconds without a byte after which the rest of a model will not come
int32_t scratch[SCRATCH];
bh_model model;
billhook_replacement replacement;
int which;
unsigned long last_byte, last_answer;

void open_newest() {
  which = billhook_open_newest(&model, ${prefix}_blob, sizeof ${prefix}_blob, scratch, SCRATCH, ${upper}_N_FEATURES);
  const char *models[] = {"no model", "the model in flash", "the new model", "the model before"};
  Serial.println(models[which + 1]);
}

void setup() {
  Serial.begin(2400);  // 4.2 ms a byte: slow enough for the EEPROM, which takes 3.4
  open_newest();
}

void loop() {
  static float x[${upper}_N_FEATURES];  // put your measurements here
  while (Serial.available()) {
    int last = billhook_receive(&replacement, (uint8_t)Serial.read());
    last_byte = millis();
    if (last == BILLHOOK_COMPLETE) {
      open_newest();
      if (which != 1) {
        Serial.println("what came was refused: damaged, too large, or not of $n_features features");
      }
    }
    if (last == BILLHOOK_NO_ROOM) {
      Serial.println("too large");
    }
  }
  if (replacement.state != 0) {
    if (millis() - last_byte > PATIENCE) {
      replacement.state = 0;
      Serial.println("cut off");
      open_newest();  // what came may have been written over the one in use
    }
    return;
  }
  if (which >= 0 && millis() - last_answer >= 1000) {  // without delay(), in which bytes would be lost
    last_answer = millis();
    Serial.println($call);
  }
}
