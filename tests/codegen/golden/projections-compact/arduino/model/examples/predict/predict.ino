#include <model.h>

void setup() {
  Serial.begin(115200);
}

void loop() {
  float x[MODEL_N_FEATURES] = {0};  // put your measurements here
  Serial.println(model_class_name(model_predict(x)));
  delay(1000);
}
