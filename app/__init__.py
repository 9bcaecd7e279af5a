"""Sluice: online anomaly detection that learns from every label the moment it arrives."""
