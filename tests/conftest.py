from hypothesis import HealthCheck, settings

# The same examples on every run; compiling on first use makes deadlines meaningless.
settings.register_profile("sluice", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sluice")
