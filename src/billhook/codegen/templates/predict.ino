#include <$prefix.h>

void setup() {
  Serial.begin(115200);
}

void loop() {
  $type x[${upper}_N_FEATURES] = {0};  // put your measurements here
$filled$answer  delay(1000);
}
