; a golden module

@llvm.compiler.used = appending global [2 x ptr] [ptr @_ZGVbN4v_sinf, ptr @_ZGVdN8v_sinf], section "llvm.metadata"
declare i64 @llvm.smax.i64(i64, i64)
declare float @sinf(float) nounwind willreturn memory(none)
define linkonce_odr hidden float @weft_sinf(float %x0) noinline nounwind willreturn memory(none) {
  %r = call float @sinf(float %x0)
  ret float %r
}
declare <4 x float> @_ZGVbN4v_sinf(<4 x float>)
declare <8 x float> @_ZGVdN8v_sinf(<8 x float>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s5 = alloca float, align 8
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  store float 0x8000000000000000, ptr %s5, align 4
  br label %head6
head6:
  %i10 = phi i64 [ %begin, %start ], [ %n11, %latch8 ]
  %v12 = icmp slt i64 %i10, %end
  br i1 %v12, label %body7, label %done9
body7:
  %v13 = add nsw i64 0, %i10
  br label %head14
head14:
  %i18 = phi i64 [ 0, %body7 ], [ %n19, %latch16 ]
  %v20 = icmp slt i64 %i18, 64
  br i1 %v20, label %body15, label %done17
body15:
  %v21 = mul nsw i64 %v13, 256
  %v22 = mul nsw i64 %i18, 4
  %v23 = getelementptr inbounds i8, ptr %v4, i64 %v21
  %v24 = getelementptr inbounds i8, ptr %v23, i64 %v22
  %v25 = load float, ptr %v24, align 4, !alias.scope !8, !noalias !9, !llvm.access.group !0
  %v26 = call reassoc arcp contract afn float @weft_sinf(float %v25) nounwind willreturn memory(none) "vector-function-abi-variant"="_ZGVbN4v_weft_sinf(_ZGVbN4v_sinf),_ZGVdN8v_weft_sinf(_ZGVdN8v_sinf)"
  %v27 = load float, ptr %s5, align 4
  %v28 = fadd reassoc arcp contract afn float %v27, %v26
  store float %v28, ptr %s5, align 4
  br label %latch16
latch16:
  %n19 = add nsw i64 %i18, 1
  br label %head14, !llvm.loop !4
done17:
  br label %latch8
latch8:
  %n11 = add nsw i64 %i10, 1
  br label %head6, !llvm.loop !2
done9:
  %v29 = load float, ptr %s5, align 4
  %v30 = atomicrmw fadd ptr %v2, float %v29 monotonic
  br label %exit
exit:
  ret void
}

define void @weft_entry(ptr noalias %ctx) nounwind "reciprocal-estimates"="none" {
entry:
  %s1 = alloca [4 x i64], align 8
  br label %start
start:
  %v2 = getelementptr inbounds i8, ptr %s1, i64 0
  store i64 0, ptr %v2, align 8
  %v3 = getelementptr inbounds i8, ptr %s1, i64 8
  store i64 0, ptr %v3, align 8
  %v4 = getelementptr inbounds i8, ptr %s1, i64 16
  store i64 64, ptr %v4, align 8
  %v5 = getelementptr inbounds i8, ptr %s1, i64 24
  store i64 64, ptr %v5, align 8
  %v6 = sub nsw i64 64, 0
  %v7 = call i64 @llvm.smax.i64(i64 %v6, i64 0)
  %v8 = sub nsw i64 64, 0
  %v9 = call i64 @llvm.smax.i64(i64 %v8, i64 0)
  %v10 = mul nsw i64 %v9, 28
  %v11 = call i64 @llvm.smax.i64(i64 %v10, i64 1)
  %v12 = udiv i64 40000, %v11
  %v13 = add i64 %v12, 1
  %v14 = icmp sle i64 %v7, %v13
  br i1 %v14, label %here15, label %shared16
here15:
  call void @weft_task0(ptr %ctx, ptr %s1, i64 0, i64 %v7)
  br label %done17
shared16:
  %v18 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v19 = load ptr, ptr %v18, align 8, !invariant.load !{}
  %v20 = getelementptr inbounds i8, ptr %v19, i64 16
  %v21 = load i64, ptr %v20, align 8, !invariant.load !{}
  %v22 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v23 = load ptr, ptr %v22, align 8, !invariant.load !{}
  %v24 = getelementptr inbounds i8, ptr %v23, i64 0
  %v25 = load ptr, ptr %v24, align 8, !invariant.load !{}
  call void %v25(i64 %v21, ptr @weft_task0, ptr %ctx, ptr %s1, i64 %v7, i64 %v13)
  br label %done17
done17:
  %v26 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v27 = load ptr, ptr %v26, align 8, !invariant.load !{}
  %v28 = load float, ptr %v27, align 4, !alias.scope !10, !noalias !11
  %v29 = getelementptr inbounds i8, ptr %ctx, i64 40
  store float %v28, ptr %v29, align 4
  br label %exit
dead30:
  br label %exit
exit:
  ret void
}

!0 = distinct !{}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !1}
!3 = !{!"llvm.loop.parallel_accesses", !0}
!4 = distinct !{!4, !3}
!5 = distinct !{!"fields"}
!6 = distinct !{!"field:x", !5}
!7 = distinct !{!"field:s", !5}
!8 = !{!6}
!9 = !{!7}
!10 = !{!7}
!11 = !{!6}
