"""Hosting the app on more than one machine: container, proxy, cluster."""
