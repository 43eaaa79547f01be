"""The main job: the most accurate model that fits a number of bytes."""
