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
  %v6 = add nsw i64 0, %begin
  %v7 = add nsw i64 0, %end
  br label %head8
head8:
  %i12 = phi i64 [ %v6, %start ], [ %n13, %latch10 ]
  %v14 = icmp slt i64 %i12, %v7
  br i1 %v14, label %body9, label %done11
body9:
  %v15 = mul nsw i64 %i12, 4
  %v16 = getelementptr inbounds i8, ptr %v4, i64 %v15
  %v17 = load float, ptr %v16, align 4, !alias.scope !8, !noalias !9, !llvm.access.group !0
  %v18 = call reassoc arcp contract afn float @weft_sinf(float %v17) nounwind willreturn memory(none) "vector-function-abi-variant"="_ZGVbN4v_weft_sinf(_ZGVbN4v_sinf),_ZGVdN8v_weft_sinf(_ZGVdN8v_sinf)"
  %v19 = load float, ptr %s5, align 4
  %v20 = fadd reassoc arcp contract afn float %v19, %v18
  store float %v20, ptr %s5, align 4
  br label %latch10
latch10:
  %n13 = add nsw i64 %i12, 1
  br label %head8, !llvm.loop !2
done11:
  %v21 = load float, ptr %s5, align 4
  %v22 = atomicrmw fadd ptr %v2, float %v21 monotonic
  br label %exit
exit:
  ret void
}

define void @weft_entry(ptr noalias %ctx) nounwind "reciprocal-estimates"="none" {
entry:
  %s1 = alloca [2 x i64], align 8
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  br label %start
start:
  %v2 = mul nsw i64 1, 28
  %v3 = call i64 @llvm.smax.i64(i64 %v2, i64 1)
  %v4 = udiv i64 40000, %v3
  %v5 = add i64 %v4, 1
  %v6 = icmp sle i64 4096, %v5
  br i1 %v6, label %here7, label %shared8
here7:
  call void @weft_task0(ptr %ctx, ptr %s1, i64 0, i64 4096)
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
  call void %v17(i64 %v13, ptr @weft_task0, ptr %ctx, ptr %s1, i64 4096, i64 %v5)
  br label %done9
done9:
  %v20 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !10, !noalias !11
  %v21 = icmp eq i64 %v20, 0
  br i1 %v21, label %on19, label %ask18, !prof !3
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
  %v29 = load float, ptr %v28, align 4, !alias.scope !12, !noalias !13
  %v30 = getelementptr inbounds i8, ptr %ctx, i64 40
  store float %v29, ptr %v30, align 4
  br label %exit
dead31:
  br label %exit
exit:
  ret void
}

!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = distinct !{!2, !1}
!3 = !{!"branch_weights", i32 1000000, i32 1}
!4 = distinct !{!"fields"}
!5 = distinct !{!"field:x", !4}
!6 = distinct !{!"record", !4}
!7 = distinct !{!"field:s", !4}
!8 = !{!5}
!9 = !{!6, !7}
!10 = !{!6}
!11 = !{!5, !7}
!12 = !{!7}
!13 = !{!5, !6}
