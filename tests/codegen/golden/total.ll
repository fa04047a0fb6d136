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
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  store float 0x8000000000000000, ptr %s5, align 4
  br label %head6
head6:
  %i11 = phi i64 [ %begin, %start ], [ %n12, %latch8 ]
  %v13 = icmp slt i64 %i11, %end
  br i1 %v13, label %body7, label %done9
body7:
  %v14 = add nsw i64 0, %i11
  br label %head15
head15:
  %i19 = phi i64 [ 0, %body7 ], [ %n20, %latch17 ]
  %v21 = icmp slt i64 %i19, 64
  br i1 %v21, label %body16, label %done18
body16:
  %v22 = mul nsw i64 %v14, 256
  %v23 = mul nsw i64 %i19, 4
  %v24 = getelementptr inbounds i8, ptr %v4, i64 %v22
  %v25 = getelementptr inbounds i8, ptr %v24, i64 %v23
  %v26 = load float, ptr %v25, align 4, !alias.scope !10, !noalias !11, !llvm.access.group !0
  %v27 = call reassoc arcp contract afn float @weft_sinf(float %v26) nounwind willreturn memory(none) "vector-function-abi-variant"="_ZGVbN4v_weft_sinf(_ZGVbN4v_sinf),_ZGVdN8v_weft_sinf(_ZGVdN8v_sinf)"
  %v28 = load float, ptr %s5, align 4
  %v29 = fadd reassoc arcp contract afn float %v28, %v27
  store float %v29, ptr %s5, align 4
  br label %latch17
latch17:
  %n20 = add nsw i64 %i19, 1
  br label %head15, !llvm.loop !4
done18:
  br label %check10
check10:
  %v32 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !12, !noalias !13
  %v33 = icmp eq i64 %v32, 0
  br i1 %v33, label %on31, label %ask30, !prof !5
ask30:
  %v34 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v35 = load ptr, ptr %v34, align 8, !invariant.load !{}
  %v36 = getelementptr inbounds i8, ptr %v35, i64 56
  %v37 = load ptr, ptr %v36, align 8, !invariant.load !{}
  %v38 = call preserve_allcc zeroext i1 %v37(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v38, label %exit, label %on31
on31:
  br label %latch8
latch8:
  %n12 = add nsw i64 %i11, 1
  br label %head6, !llvm.loop !2
done9:
  %v39 = load float, ptr %s5, align 4
  %v40 = atomicrmw fadd ptr %v2, float %v39 monotonic
  br label %exit
exit:
  ret void
}

define void @weft_entry(ptr noalias %ctx) nounwind "reciprocal-estimates"="none" {
entry:
  %s1 = alloca [4 x i64], align 8
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  br label %start
start:
  %v2 = mul nsw i64 64, 28
  %v3 = call i64 @llvm.smax.i64(i64 %v2, i64 1)
  %v4 = udiv i64 40000, %v3
  %v5 = add i64 %v4, 1
  %v6 = icmp sle i64 64, %v5
  br i1 %v6, label %here7, label %shared8
here7:
  call void @weft_task0(ptr %ctx, ptr %s1, i64 0, i64 64)
  br label %done9
shared8:
  %v10 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v11 = load ptr, ptr %v10, align 8, !invariant.load !{}
  %v12 = getelementptr inbounds i8, ptr %v11, i64 16
  %v13 = load i64, ptr %v12, align 8, !invariant.load !{}
  %v14 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v15 = load ptr, ptr %v14, align 8, !invariant.load !{}
  %v16 = getelementptr inbounds i8, ptr %v15, i64 0
  %v17 = load ptr, ptr %v16, align 8, !invariant.load !{}
  call void %v17(i64 %v13, ptr @weft_task0, ptr %ctx, ptr %s1, i64 64, i64 %v5)
  br label %done9
done9:
  %v20 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !12, !noalias !13
  %v21 = icmp eq i64 %v20, 0
  br i1 %v21, label %on19, label %ask18, !prof !5
ask18:
  %v22 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v23 = load ptr, ptr %v22, align 8, !invariant.load !{}
  %v24 = getelementptr inbounds i8, ptr %v23, i64 56
  %v25 = load ptr, ptr %v24, align 8, !invariant.load !{}
  %v26 = call preserve_allcc zeroext i1 %v25(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v26, label %exit, label %on19
on19:
  %v27 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v28 = load ptr, ptr %v27, align 8, !invariant.load !{}
  %v29 = load float, ptr %v28, align 4, !alias.scope !14, !noalias !15
  %v30 = getelementptr inbounds i8, ptr %ctx, i64 40
  store float %v29, ptr %v30, align 4
  br label %exit
dead31:
  br label %exit
exit:
  ret void
}

!0 = distinct !{}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !1}
!3 = !{!"llvm.loop.parallel_accesses", !0}
!4 = distinct !{!4, !3}
!5 = !{!"branch_weights", i32 1000000, i32 1}
!6 = distinct !{!"fields"}
!7 = distinct !{!"field:x", !6}
!8 = distinct !{!"record", !6}
!9 = distinct !{!"field:s", !6}
!10 = !{!7}
!11 = !{!8, !9}
!12 = !{!8}
!13 = !{!7, !9}
!14 = !{!9}
!15 = !{!7, !8}
