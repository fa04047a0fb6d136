; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s28 = alloca <16 x float>, align 64
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
  %i11 = phi i64 [ %begin, %start ], [ %n12, %latch9 ]
  %v13 = icmp slt i64 %i11, %end
  br i1 %v13, label %body8, label %done10
body8:
  %v14 = add nsw i64 0, %i11
  br label %head15
head15:
  %i19 = phi i64 [ 0, %body8 ], [ %n20, %latch17 ]
  %v21 = icmp slt i64 %i19, 64
  br i1 %v21, label %body16, label %done18
body16:
  %v22 = sub i64 64, %i19
  %v23 = call i64 @llvm.umin.i64(i64 %v22, i64 16)
  %v24 = trunc i64 %v23 to i32
  %v25 = insertelement <16 x i32> poison, i32 %v24, i64 0
  %v26 = shufflevector <16 x i32> %v25, <16 x i32> poison, <16 x i32> zeroinitializer
  %v27 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v26
  store <16 x float> zeroinitializer, ptr %s28, align 64
  store <16 x float> splat (float 0x0000000000000000), ptr %s28, align 4
  br label %head29
head29:
  %i33 = phi i64 [ 0, %body16 ], [ %n34, %latch31 ]
  %v35 = icmp slt i64 %i33, 64
  br i1 %v35, label %body30, label %done32
body30:
  %v36 = mul i64 %v14, 256
  %v37 = getelementptr i8, ptr %v2, i64 %v36
  %v38 = mul i64 %i33, 4
  %v39 = getelementptr i8, ptr %v37, i64 %v38
  %v40 = load float, ptr %v39, align 4, !alias.scope !6, !noalias !7
  %v41 = mul i64 %i33, 256
  %v42 = getelementptr i8, ptr %v4, i64 %v41
  %v43 = mul i64 %i19, 4
  %v44 = getelementptr i8, ptr %v42, i64 %v43
  %v45 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v44, <16 x i1> %v27, <16 x float> zeroinitializer), !alias.scope !8, !noalias !9
  %v46 = insertelement <16 x float> poison, float %v40, i64 0
  %v47 = shufflevector <16 x float> %v46, <16 x float> poison, <16 x i32> zeroinitializer
  %v48 = fmul reassoc arcp contract afn <16 x float> %v47, %v45
  %v49 = load <16 x float>, ptr %s28, align 4
  %v50 = fadd reassoc arcp contract afn <16 x float> %v49, %v48
  store <16 x float> %v50, ptr %s28, align 4
  br label %latch31
latch31:
  %n34 = add nsw i64 %i33, 1
  br label %head29
done32:
  %v51 = load <16 x float>, ptr %s28, align 4
  %v52 = mul i64 %v14, 256
  %v53 = getelementptr i8, ptr %v6, i64 %v52
  %v54 = mul i64 %i19, 4
  %v55 = getelementptr i8, ptr %v53, i64 %v54
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v51, ptr align 4 %v55, <16 x i1> %v27), !alias.scope !10, !noalias !11
  br label %latch17
latch17:
  %n20 = add nsw i64 %i19, 16
  br label %head15
done18:
  br label %latch9
latch9:
  %n12 = add nsw i64 %i11, 1
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
  %v10 = mul nsw i64 %v9, 178
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
  br label %exit
exit:
  ret void
}

!0 = !{!"llvm.loop.unroll.disable"}
!1 = distinct !{!1, !0}
!2 = distinct !{!"fields"}
!3 = distinct !{!"field:a", !2}
!4 = distinct !{!"field:b", !2}
!5 = distinct !{!"field:c", !2}
!6 = !{!3}
!7 = !{!4, !5}
!8 = !{!4}
!9 = !{!3, !5}
!10 = !{!5}
!11 = !{!3, !4}
