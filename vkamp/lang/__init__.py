"""What users name: the index space, element types, containers and copies."""
