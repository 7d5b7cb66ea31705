# Enrols the template <struct>_shaped<block_threads, blocks_per_multiprocessor> of the variant that is described over these
# shapes, for f32 sums, as ladder launch_sweep: so that a rung's gain is not an accident of its launch shape.
include_guard(GLOBAL)

function(_rungs_sweep swept)
  set(RUNGS_LADDER launch_sweep)
  set(RUNGS_NUMBER -1)
  set(RUNGS_CALLS "")
  set(RUNGS_OPERATORS plus)
  foreach(threads 128 256 512 1024)
    foreach(blocks 1 2 4 8 16 32)
      set(RUNGS_STRUCT "${swept}_shaped<${threads}, ${blocks}>")
      set(RUNGS_RUNG ${swept}_${threads}x${blocks})
      _rungs_unit(launch_sweep_${RUNGS_RUNG} f32)
    endforeach()
  endforeach()
endfunction()
