"""limelight: the executable theory of attention."""
