; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s29 = alloca <16 x float>, align 64
  %record.at = getelementptr inbounds i8, ptr %ctx, i64 8
  %record = load ptr, ptr %record.at, align 8, !invariant.load !{}
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 40
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v5 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v6 = load ptr, ptr %v5, align 8, !invariant.load !{}
  br label %head7
head7:
  %i12 = phi i64 [ %begin, %start ], [ %n13, %latch9 ]
  %v14 = icmp slt i64 %i12, %end
  br i1 %v14, label %body8, label %done10
body8:
  %v15 = add nsw i64 0, %i12
  %v22 = icmp slt i64 0, 64
  br i1 %v22, label %enter16, label %done19
enter16:
  br label %body17
body17:
  %i20 = phi i64 [ 0, %enter16 ], [ %n21, %latch18 ]
  %v23 = sub i64 64, %i20
  %v24 = call i64 @llvm.umin.i64(i64 %v23, i64 16)
  %v25 = trunc i64 %v24 to i32
  %v26 = insertelement <16 x i32> poison, i32 %v25, i64 0
  %v27 = shufflevector <16 x i32> %v26, <16 x i32> poison, <16 x i32> zeroinitializer
  %v28 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v27
  store <16 x float> splat (float 0x0000000000000000), ptr %s29, align 4
  store <16 x float> splat (float 0x0000000000000000), ptr %s29, align 4
  br label %head30
head30:
  %i34 = phi i64 [ 0, %body17 ], [ %n35, %latch32 ]
  %v36 = icmp slt i64 %i34, 64
  br i1 %v36, label %body31, label %done33
body31:
  %v37 = mul i64 %v15, 256
  %v38 = mul i64 %i34, 4
  %v39 = getelementptr i8, ptr %v2, i64 %v37
  %v40 = getelementptr i8, ptr %v39, i64 %v38
  %v41 = load float, ptr %v40, align 4, !alias.scope !8, !noalias !9
  %v42 = mul i64 %i34, 256
  %v43 = mul i64 %i20, 4
  %v44 = getelementptr i8, ptr %v4, i64 %v42
  %v45 = getelementptr i8, ptr %v44, i64 %v43
  %v46 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v45, <16 x i1> %v28, <16 x float> zeroinitializer), !alias.scope !10, !noalias !11
  %v47 = insertelement <16 x float> poison, float %v41, i64 0
  %v48 = shufflevector <16 x float> %v47, <16 x float> poison, <16 x i32> zeroinitializer
  %v49 = fmul reassoc arcp contract afn <16 x float> %v48, %v46
  %v50 = load <16 x float>, ptr %s29, align 4
  %v51 = fadd reassoc arcp contract afn <16 x float> %v50, %v49
  store <16 x float> %v51, ptr %s29, align 4
  br label %latch32
latch32:
  %n35 = add nsw i64 %i34, 1
  br label %head30
done33:
  %v52 = load <16 x float>, ptr %s29, align 4
  %v53 = mul i64 %v15, 256
  %v54 = mul i64 %i20, 4
  %v55 = getelementptr i8, ptr %v6, i64 %v53
  %v56 = getelementptr i8, ptr %v55, i64 %v54
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v52, ptr align 4 %v56, <16 x i1> %v28), !alias.scope !12, !noalias !13
  br label %latch18
latch18:
  %n21 = add nsw i64 %i20, 16
  %v57 = icmp ugt i64 %v23, 16
  br i1 %v57, label %body17, label %done19
done19:
  br label %check11
check11:
  %v60 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !14, !noalias !15
  %v61 = icmp eq i64 %v60, 0
  br i1 %v61, label %on59, label %ask58, !prof !2
ask58:
  %v62 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v63 = load ptr, ptr %v62, align 8, !invariant.load !{}
  %v64 = getelementptr inbounds i8, ptr %v63, i64 56
  %v65 = load ptr, ptr %v64, align 8, !invariant.load !{}
  %v66 = call preserve_allcc zeroext i1 %v65(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v66, label %exit, label %on59
on59:
  br label %latch9
latch9:
  %n13 = add nsw i64 %i12, 1
  br label %head7, !llvm.loop !1
done10:
  br label %exit
exit:
  ret void
}

define void @weft_entry(ptr noalias %ctx) nounwind "reciprocal-estimates"="none" {
entry:
  %s1 = alloca [4 x i64], align 8
  br label %start
start:
  %v2 = mul nsw i64 64, 178
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
  br label %exit
exit:
  ret void
}

!0 = !{!"llvm.loop.unroll.disable"}
!1 = distinct !{!1, !0}
!2 = !{!"branch_weights", i32 1000000, i32 1}
!3 = distinct !{!"fields"}
!4 = distinct !{!"field:a", !3}
!5 = distinct !{!"field:b", !3}
!6 = distinct !{!"field:c", !3}
!7 = distinct !{!"record", !3}
!8 = !{!4}
!9 = !{!5, !6, !7}
!10 = !{!5}
!11 = !{!4, !6, !7}
!12 = !{!6}
!13 = !{!4, !5, !7}
!14 = !{!7}
!15 = !{!4, !5, !6}
