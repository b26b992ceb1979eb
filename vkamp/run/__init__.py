"""Devices and what runs on them: the engine interface, discovery, the Kompute engine, accelerators."""
