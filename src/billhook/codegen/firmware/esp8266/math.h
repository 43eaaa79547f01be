/* In place of the header of a C library, which Debian has not for this processor. */
float expf(float);
float logf(float);
float ceilf(float);
