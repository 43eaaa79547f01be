"""The page on a fit."""
