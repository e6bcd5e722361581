"""Trained weights: read from files, and built into graphs."""
