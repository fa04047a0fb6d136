; CPU
  %v23 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !5, !noalias !6
  %v38 = load atomic i32, ptr %v2 monotonic, align 4
  %v39 = load atomic i32, ptr %v2 acquire, align 4
  store atomic i32 %v38, ptr %v9 monotonic, align 4
  store atomic i32 %v39, ptr %v9 release, align 4
  %v40 = atomicrmw xchg ptr %v2, i32 1 monotonic
  %v41 = atomicrmw xchg ptr %v2, i32 %v40 acquire
  %v42 = atomicrmw xchg ptr %v2, i32 %v41 release
  %v43 = atomicrmw xchg ptr %v2, i32 %v42 acq_rel
  %v44 = cmpxchg ptr %v10, i32 %v43, i32 1 monotonic monotonic
  %v46 = cmpxchg ptr %v10, i32 %v45, i32 1 acquire acquire
  %v48 = cmpxchg ptr %v10, i32 %v47, i32 1 release monotonic
  %v50 = cmpxchg ptr %v10, i32 %v49, i32 1 acq_rel acquire
  fence acquire
  fence release
  fence acq_rel
  fence acq_rel
  %v52 = load atomic float, ptr %v4 acquire, align 4
  %v53 = atomicrmw xchg ptr %v4, float %v52 monotonic
  %v56 = cmpxchg ptr %v4, i32 %v54, i32 %v55 acq_rel acquire
  store atomic float %v58, ptr %v4 monotonic, align 4
  %v59 = load atomic double, ptr %v6 monotonic, align 8
  %v62 = cmpxchg ptr %v6, i64 %v60, i64 %v61 monotonic monotonic
  %v65 = load atomic i64, ptr %v8 acquire, align 8
  %v66 = cmpxchg ptr %v8, i64 %v65, i64 %v65 acquire acquire
  %v68 = atomicrmw xchg ptr %v8, i64 %v67 release
; GPU
  %v26 = load atomic i32, ptr %v2 syncscope("device") monotonic, align 4
  %v27 = load atomic i32, ptr %v2 syncscope("device") acquire, align 4
  store atomic i32 %v26, ptr %v9 syncscope("device") monotonic, align 4
  store atomic i32 %v27, ptr %v9 syncscope("device") release, align 4
  %v28 = atomicrmw xchg ptr %v2, i32 1 syncscope("device") monotonic
  %v29 = atomicrmw xchg ptr %v2, i32 %v28 syncscope("device") monotonic
  fence syncscope("device") acquire
  fence syncscope("device") release
  %v30 = atomicrmw xchg ptr %v2, i32 %v29 syncscope("device") monotonic
  fence syncscope("device") release
  %v31 = atomicrmw xchg ptr %v2, i32 %v30 syncscope("device") monotonic
  fence syncscope("device") acquire
  %v32 = cmpxchg ptr %v10, i32 %v31, i32 1 syncscope("device") monotonic monotonic
  %v34 = cmpxchg ptr %v10, i32 %v33, i32 1 syncscope("device") acquire acquire
  %v36 = cmpxchg ptr %v10, i32 %v35, i32 1 syncscope("device") release monotonic
  %v38 = cmpxchg ptr %v10, i32 %v37, i32 1 syncscope("device") acq_rel acquire
  fence syncscope("device") acquire
  fence syncscope("device") release
  fence syncscope("device") acq_rel
  fence syncscope("block") acq_rel
  %v40 = load atomic float, ptr %v4 syncscope("device") acquire, align 4
  %v41 = atomicrmw xchg ptr %v4, float %v40 syncscope("device") monotonic
  %v44 = cmpxchg ptr %v4, i32 %v42, i32 %v43 syncscope("device") acq_rel acquire
  store atomic float %v46, ptr %v4 syncscope("device") monotonic, align 4
  %v47 = load atomic double, ptr %v6 syncscope("device") monotonic, align 8
  %v50 = cmpxchg ptr %v6, i64 %v48, i64 %v49 syncscope("device") monotonic monotonic
  %v53 = load atomic i64, ptr %v8 syncscope("device") acquire, align 8
  %v54 = cmpxchg ptr %v8, i64 %v53, i64 %v53 syncscope("device") acquire acquire
  fence syncscope("device") release
  %v56 = atomicrmw xchg ptr %v8, i64 %v55 syncscope("device") monotonic
