"""The reach network of model ``plus``: message passing from the support entities over earlier facts."""
