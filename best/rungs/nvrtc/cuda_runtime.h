// For NVRTC, which declares all of it by itself: see docs/collectives.md.
