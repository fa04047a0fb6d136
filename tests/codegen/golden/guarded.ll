; a golden module


declare i64 @llvm.smax.i64(i64, i64)

define internal void @weft_task0(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end) noinline nounwind "reciprocal-estimates"="none" {
entry:
  %s20 = alloca i32, align 8
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %box, i64 8
  %v2 = load i64, ptr %v1, align 8, !invariant.load !{}
  %v3 = getelementptr inbounds i8, ptr %ctx, i64 24
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !{}
  %v5 = add nsw i64 0, %begin
  %v6 = add nsw i64 0, %end
  br label %head7
head7:
  %i11 = phi i64 [ %v5, %start ], [ %n12, %latch9 ]
  %v13 = icmp slt i64 %i11, %v6
  br i1 %v13, label %body8, label %done10
body8:
  %v14 = trunc i64 %i11 to i32
  %v15 = and i32 %v14, 1
  %v16 = icmp eq i32 %v15, 0
  br i1 %v16, label %then17, label %done19
then17:
  br label %latch9
done19:
  store i32 0, ptr %s20, align 4
  br label %while21
while21:
  %v23 = load i32, ptr %s20, align 4
  %v24 = icmp slt i32 %v23, %v14
  br i1 %v24, label %then25, label %else26
then25:
  br label %done27
else26:
  br label %done22
done27:
  %v28 = add i32 %v23, 2
  store i32 %v28, ptr %s20, align 4
  %v29 = icmp sgt i32 %v28, 5
  br i1 %v29, label %then30, label %done32
then30:
  br label %done22
done32:
  br label %while21
done22:
  %v33 = load i32, ptr %s20, align 4
  %v34 = sext i32 %v33 to i64
  %v35 = mul nsw i64 %v34, 4
  %v36 = getelementptr inbounds i8, ptr %v4, i64 %v35
  %v37 = icmp sge i32 %v33, 0
  %v38 = icmp slt i32 %v33, 8
  %v39 = and i1 %v37, %v38
  br i1 %v39, label %holds42, label %fail40
fail40:
  %v43 = getelementptr inbounds i8, ptr %ctx, i64 8
  %v44 = load ptr, ptr %v43, align 8, !invariant.load !{}
  %v45 = cmpxchg ptr %v44, i64 0, i64 1 acq_rel acquire
  %v46 = extractvalue { i64, i1 } %v45, 1
  br i1 %v46, label %first41, label %exit
first41:
  %v47 = getelementptr inbounds i8, ptr %v44, i64 8
  store i64 0, ptr %v47, align 8
  %v48 = getelementptr inbounds i8, ptr %v44, i64 16
  store i32 %v33, ptr %v48, align 8
  store atomic i64 2, ptr %v44 release, align 8
  br label %exit
holds42:
  store i32 %v14, ptr %v36, align 4, !alias.scope !5, !noalias !6, !llvm.access.group !0
  br label %latch9
latch9:
  %n12 = add nsw i64 %i11, 1
  br label %head7, !llvm.loop !2
done10:
  br label %exit
exit:
  ret void
}

define void @weft_entry(ptr noalias %ctx) nounwind "reciprocal-estimates"="none" {
entry:
  %s4 = alloca [2 x i64], align 8
  %s32 = alloca [1 x i64], align 8
  br label %start
start:
  %v1 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v2 = load i32, ptr %v1, align 8, !invariant.load !{}
  %v3 = sext i32 %v2 to i64
  %v5 = getelementptr inbounds i8, ptr %s4, i64 0
  store i64 0, ptr %v5, align 8
  %v6 = getelementptr inbounds i8, ptr %s4, i64 8
  store i64 %v3, ptr %v6, align 8
  %v7 = sub nsw i64 %v3, 0
  %v8 = call i64 @llvm.smax.i64(i64 %v7, i64 0)
  %v9 = mul nsw i64 1, 158
  %v10 = call i64 @llvm.smax.i64(i64 %v9, i64 1)
  %v11 = udiv i64 40000, %v10
  %v12 = add i64 %v11, 1
  %v13 = icmp sle i64 %v8, %v12
  br i1 %v13, label %here14, label %shared15
here14:
  call void @weft_task0(ptr %ctx, ptr %s4, i64 0, i64 %v8)
  br label %done16
shared15:
  %v17 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v18 = load ptr, ptr %v17, align 8, !invariant.load !{}
  %v19 = getelementptr inbounds i8, ptr %v18, i64 16
  %v20 = load i64, ptr %v19, align 8, !invariant.load !{}
  %v21 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v22 = load ptr, ptr %v21, align 8, !invariant.load !{}
  %v23 = getelementptr inbounds i8, ptr %v22, i64 0
  %v24 = load ptr, ptr %v23, align 8, !invariant.load !{}
  call void %v24(i64 %v20, ptr @weft_task0, ptr %ctx, ptr %s4, i64 %v8, i64 %v12)
  br label %done16
done16:
  %v26 = getelementptr inbounds i8, ptr %ctx, i64 8
  %v27 = load ptr, ptr %v26, align 8, !invariant.load !{}
  %v28 = load i64, ptr %v27, align 8
  %v29 = icmp eq i64 %v28, 0
  br i1 %v29, label %sound25, label %exit
sound25:
  %v30 = getelementptr inbounds i8, ptr %ctx, i64 32
  %v31 = load i32, ptr %v30, align 8, !invariant.load !{}
  %v33 = getelementptr inbounds i8, ptr %s32, i64 0
  store i32 %v31, ptr %v33, align 8
  %v34 = getelementptr inbounds i8, ptr %ctx, i64 0
  %v35 = load ptr, ptr %v34, align 8, !invariant.load !{}
  %v36 = getelementptr inbounds i8, ptr %v35, i64 8
  %v37 = load ptr, ptr %v36, align 8, !invariant.load !{}
  call void %v37(i64 1, ptr %s32)
  br label %exit
exit:
  ret void
}

!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = distinct !{!2, !1}
!3 = distinct !{!"fields"}
!4 = distinct !{!"field:z", !3}
!5 = !{!4}
!6 = !{}
