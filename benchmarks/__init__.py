"""Speed and load, run by hand and, in a short form, by CI."""
