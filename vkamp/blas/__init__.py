"""Basic linear algebra subprograms on any device."""
