"""How far Sluice scales: cost against workers, features, tenants and log length; memory; and a plan drawn from them."""
