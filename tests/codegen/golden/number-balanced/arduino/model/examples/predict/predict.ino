#include <model.h>

void setup() {
  Serial.begin(115200);
}

void loop() {
  float x[MODEL_N_FEATURES] = {0};  // put your measurements here
  Serial.println(model_value(x));
  delay(1000);
}
