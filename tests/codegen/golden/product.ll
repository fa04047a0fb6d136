; a golden module


declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s30 = alloca <16 x float>, align 64
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
  br label %head8
head8:
  %i13 = phi i64 [ %begin, %start ], [ %n14, %latch10 ]
  %v15 = icmp slt i64 %i13, %end
  br i1 %v15, label %body9, label %done11
body9:
  %v16 = add nsw i64 0, %i13
  %v23 = icmp slt i64 0, 64
  br i1 %v23, label %enter17, label %done20
enter17:
  br label %body18
body18:
  %i21 = phi i64 [ 0, %enter17 ], [ %n22, %latch19 ]
  %v24 = sub i64 64, %i21
  %v25 = call i64 @llvm.umin.i64(i64 %v24, i64 16)
  %v26 = trunc i64 %v25 to i32
  %v27 = insertelement <16 x i32> poison, i32 %v26, i64 0
  %v28 = shufflevector <16 x i32> %v27, <16 x i32> poison, <16 x i32> zeroinitializer
  %v29 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v28
  store <16 x float> splat (float 0x0000000000000000), ptr %s30, align 4
  store <16 x float> splat (float 0x0000000000000000), ptr %s30, align 4
  br label %head31
head31:
  %i35 = phi i64 [ 0, %body18 ], [ %n36, %latch33 ]
  %v37 = icmp slt i64 %i35, 64
  br i1 %v37, label %body32, label %done34
body32:
  %v38 = mul i64 %v16, 256
  %v39 = mul i64 %i35, 4
  %v40 = getelementptr i8, ptr %v2, i64 %v38
  %v41 = getelementptr i8, ptr %v40, i64 %v39
  %v42 = load float, ptr %v41, align 4, !alias.scope !8, !noalias !9
  %v43 = mul i64 %i35, 256
  %v44 = mul i64 %i21, 4
  %v45 = getelementptr i8, ptr %v4, i64 %v43
  %v46 = getelementptr i8, ptr %v45, i64 %v44
  %v47 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %v46, <16 x i1> %v29, <16 x float> zeroinitializer), !alias.scope !10, !noalias !11
  %v48 = insertelement <16 x float> poison, float %v42, i64 0
  %v49 = shufflevector <16 x float> %v48, <16 x float> poison, <16 x i32> zeroinitializer
  %v50 = fmul reassoc arcp contract afn <16 x float> %v49, %v47
  %v51 = load <16 x float>, ptr %s30, align 4
  %v52 = fadd reassoc arcp contract afn <16 x float> %v51, %v50
  store <16 x float> %v52, ptr %s30, align 4
  br label %latch33
latch33:
  %n36 = add nsw i64 %i35, 1
  br label %head31
done34:
  %v53 = load <16 x float>, ptr %s30, align 4
  %v54 = mul i64 %v16, 256
  %v55 = mul i64 %i21, 4
  %v56 = getelementptr i8, ptr %v6, i64 %v54
  %v57 = getelementptr i8, ptr %v56, i64 %v55
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v53, ptr align 4 %v57, <16 x i1> %v29), !alias.scope !12, !noalias !13
  br label %latch19
latch19:
  %n22 = add nsw i64 %i21, 16
  %v58 = icmp ugt i64 %v24, 16
  br i1 %v58, label %body18, label %done20
done20:
  br label %check12
check12:
  %v61 = load atomic i64, ptr %record monotonic, align 8, !alias.scope !14, !noalias !15
  %v62 = icmp eq i64 %v61, 0
  br i1 %v62, label %on60, label %ask59, !prof !2
ask59:
  %v63 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v64 = load ptr, ptr %v63, align 8, !invariant.load !{}
  %v65 = getelementptr inbounds i8, ptr %v64, i64 56
  %v66 = load ptr, ptr %v65, align 8, !invariant.load !{}
  %v67 = call preserve_allcc zeroext i1 %v66(ptr %record) nounwind willreturn cold memory(inaccessiblemem: readwrite)
  br i1 %v67, label %exit, label %on60
on60:
  br label %latch10
latch10:
  %n14 = add nsw i64 %i13, 1
  br label %head8, !llvm.loop !1
done11:
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
