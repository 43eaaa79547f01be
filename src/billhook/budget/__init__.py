"""The main job: the best model under a budget."""
