"""What every shelf stands on: types, keys by name, numerics, errors, whole files, devices."""
