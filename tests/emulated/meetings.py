"""Where the threads of an emulated block meet, in LLVM IR: barriers, votes, matches, shuffles. `blocks.py` has the
prose and the state.

Who comes to a meeting says so and looks whether all are there. If not, it lets others run, and looks again. The last to
come gives all of them what each brought. Those of a warp who meet by different masks do so apart from one another: of
masks that have no lane in common, the first lanes differ.
"""

__all__ = ["MEETINGS"]

MEETINGS = """
define internal void @move() {
  %a = load i32, ptr @moves
  %b = add i32 %a, 1
  store i32 %b, ptr @moves
  ret void
}

define internal void @pause() {
  %t = load i32, ptr @now
  %at = getelementptr ptr, ptr @sp, i32 %t
  call void @switch(ptr %at, ptr @home)
  ret void
}

define internal void @fiber() {
  %f = load ptr, ptr @entry
  %ctx = load ptr, ptr @context
  call void %f(ptr %ctx)
  %t = load i32, ptr @now
  %end.at = getelementptr i1, ptr @ended, i32 %t
  store i1 true, ptr %end.at
  %w = lshr i32 %t, 5
  %l = and i32 %t, 31
  %bit = shl i32 1, %l
  %others = xor i32 %bit, -1
  %alive.at = getelementptr i32, ptr @alive, i32 %w
  %before = load i32, ptr %alive.at
  %after = and i32 %before, %others
  store i32 %after, ptr %alive.at
  %n = load i32, ptr @living
  %m = sub i32 %n, 1
  store i32 %m, ptr @living
  call void @move()
  call void @pause()
  unreachable
}

define i32 @emu_barrier(i32 %how, i1 %p) {
entry:
  %t = load i32, ptr @now
  %wait.at = getelementptr i1, ptr @waits, i32 %t
  %sum.at = getelementptr i64, ptr @brought, i32 %t
  store i1 true, ptr %wait.at
  %w0 = load i32, ptr @waiting
  %w1 = add i32 %w0, 1
  store i32 %w1, ptr @waiting
  %a0 = load i32, ptr @agreeing
  %one = zext i1 %p to i32
  %a1 = add i32 %a0, %one
  store i32 %a1, ptr @agreeing
  call void @move()
  br label %check
check:
  %still = load i1, ptr %wait.at
  br i1 %still, label %count, label %done
count:
  %here = load i32, ptr @waiting
  %all = load i32, ptr @living
  %complete = icmp eq i32 %here, %all
  br i1 %complete, label %release, label %sleep
sleep:
  call void @pause()
  br label %check
release:
  %agree = load i32, ptr @agreeing
  %both = insertelement <2 x i32> poison, i32 %agree, i32 0
  %pair = insertelement <2 x i32> %both, i32 %here, i32 1
  br label %each
each:
  %u = phi i32 [ 0, %release ], [ %u1, %each ]
  %u.sum = getelementptr i64, ptr @brought, i32 %u
  store <2 x i32> %pair, ptr %u.sum, align 8
  %u.wait = getelementptr i1, ptr @waits, i32 %u
  store i1 false, ptr %u.wait
  %u1 = add i32 %u, 1
  %more = icmp ult i32 %u1, MOST
  br i1 %more, label %each, label %released
released:
  store i32 0, ptr @waiting
  store i32 0, ptr @agreeing
  call void @move()
  br label %check
done:
  %result = load <2 x i32>, ptr %sum.at, align 8
  %sum = extractelement <2 x i32> %result, i32 0
  %of = extractelement <2 x i32> %result, i32 1
  %and = icmp eq i32 %sum, %of
  %or = icmp ne i32 %sum, 0
  %and.word = zext i1 %and to i32
  %or.word = zext i1 %or to i32
  %is.or = icmp eq i32 %how, 2
  %truth = select i1 %is.or, i32 %or.word, i32 %and.word
  %is.sum = icmp eq i32 %how, 0
  %answer = select i1 %is.sum, i32 %sum, i32 %truth
  ret i32 %answer
}

define internal i32 @meet(i32 %kind, i32 %mask, i64 %value) {
entry:
  %t = load i32, ptr @now
  %w = lshr i32 %t, 5
  %l = and i32 %t, 31
  %bit = shl i32 1, %l
  %lead = call i32 @llvm.cttz.i32(i32 %mask, i1 false)
  %lead.in = and i32 %lead, 31
  %there.at = getelementptr [32 x i32], ptr @there, i32 %w, i32 %lead.in
  %kind.at = getelementptr [32 x i32], ptr @kinds, i32 %w, i32 %lead.in
  %alive.at = getelementptr i32, ptr @alive, i32 %w
  %wait.at = getelementptr i1, ptr @waits, i32 %t
  %value.at = getelementptr i64, ptr @brought, i32 %t
  %present.at = getelementptr i32, ptr @present, i32 %t
  store i64 %value, ptr %value.at
  store i1 true, ptr %wait.at
  %before = load i32, ptr %there.at
  %with = or i32 %before, %bit
  store i32 %with, ptr %there.at
  %first = icmp eq i32 %before, 0
  %their = load i32, ptr %kind.at
  %agreed = icmp eq i32 %their, %kind
  %fine = or i1 %first, %agreed
  %failed = load i32, ptr @failure
  %failure.now = select i1 %fine, i32 %failed, i32 2
  store i32 %failure.now, ptr @failure
  store i32 %kind, ptr %kind.at
  call void @move()
  br label %check
check:
  %still = load i1, ptr %wait.at
  br i1 %still, label %count, label %done
count:
  %living = load i32, ptr %alive.at
  %need = and i32 %mask, %living
  %have = load i32, ptr %there.at
  %some = and i32 %have, %need
  %complete = icmp eq i32 %some, %need
  br i1 %complete, label %release, label %sleep
sleep:
  call void @pause()
  br label %check
release:
  store i32 0, ptr %there.at
  %base = shl i32 %w, 5
  %values = getelementptr i64, ptr @brought, i32 %base
  br label %each
each:
  %i = phi i32 [ 0, %release ], [ %i1, %next ]
  %i.bit = shl i32 1, %i
  %hit = and i32 %have, %i.bit
  %is = icmp ne i32 %hit, 0
  br i1 %is, label %give, label %next
give:
  %u = add i32 %base, %i
  %u.got = getelementptr [32 x i64], ptr @got, i32 %u
  call void @llvm.memcpy.p0.p0.i64(ptr %u.got, ptr %values, i64 256, i1 false)
  %u.present = getelementptr i32, ptr @present, i32 %u
  store i32 %have, ptr %u.present
  %u.wait = getelementptr i1, ptr @waits, i32 %u
  store i1 false, ptr %u.wait
  br label %next
next:
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, 32
  br i1 %more, label %each, label %released
released:
  call void @move()
  br label %check
done:
  %came = load i32, ptr %present.at
  ret i32 %came
}

define internal i32 @equal(i32 %came, i64 %value) {
entry:
  %t = load i32, ptr @now
  br label %each
each:
  %i = phi i32 [ 0, %entry ], [ %i1, %each ]
  %bits = phi i32 [ 0, %entry ], [ %bits1, %each ]
  %at = getelementptr [32 x i64], ptr @got, i32 %t, i32 %i
  %other = load i64, ptr %at
  %same = icmp eq i64 %other, %value
  %word = zext i1 %same to i32
  %bit = shl i32 %word, %i
  %bits1 = or i32 %bits, %bit
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, 32
  br i1 %more, label %each, label %done
done:
  %found = and i32 %bits1, %came
  ret i32 %found
}

define i32 @emu_vote(i32 %how, i32 %mask, i1 %p) {
  %value = zext i1 %p to i64
  %came = call i32 @meet(i32 %how, i32 %mask, i64 %value)
  %bits = call i32 @equal(i32 %came, i64 1)
  %all = icmp eq i32 %bits, %came
  %any = icmp ne i32 %bits, 0
  %none = icmp eq i32 %bits, 0
  %uniform = or i1 %all, %none
  %all.word = zext i1 %all to i32
  %any.word = zext i1 %any to i32
  %uniform.word = zext i1 %uniform to i32
  %is.any = icmp eq i32 %how, 1
  %is.uniform = icmp eq i32 %how, 2
  %is.bits = icmp eq i32 %how, 3
  %one = select i1 %is.any, i32 %any.word, i32 %all.word
  %two = select i1 %is.uniform, i32 %uniform.word, i32 %one
  %three = select i1 %is.bits, i32 %bits, i32 %two
  ret i32 %three
}

define i32 @emu_match(i32 %how, i32 %mask, i64 %value) {
  %kind = add i32 %how, 4
  %came = call i32 @meet(i32 %kind, i32 %mask, i64 %value)
  %bits = call i32 @equal(i32 %came, i64 %value)
  %all = icmp eq i32 %bits, %came
  %is.any = icmp eq i32 %how, 0
  %found = or i1 %all, %is.any
  %answer = select i1 %found, i32 %bits, i32 0
  ret i32 %answer
}

define i32 @emu_shuffle(i32 %way, i32 %mask, i32 %value, i32 %by) {
  %wide = zext i32 %value to i64
  %kind = add i32 %way, 6
  %came = call i32 @meet(i32 %kind, i32 %mask, i64 %wide)
  %t = load i32, ptr @now
  %l = and i32 %t, 31
  %b = and i32 %by, 31
  %up = sub i32 %l, %b
  %down = add i32 %l, %b
  %cross = xor i32 %l, %b
  %is.up = icmp eq i32 %way, 1
  %is.down = icmp eq i32 %way, 2
  %is.cross = icmp eq i32 %way, 3
  %s1 = select i1 %is.up, i32 %up, i32 %b
  %s2 = select i1 %is.down, i32 %down, i32 %s1
  %source = select i1 %is.cross, i32 %cross, i32 %s2
  %lane = and i32 %source, 31
  %inside = icmp eq i32 %lane, %source
  %at = getelementptr [32 x i64], ptr @got, i32 %t, i32 %lane
  %theirs = load i64, ptr %at
  %word = trunc i64 %theirs to i32
  %shifted = lshr i32 %came, %lane
  %is.there = trunc i32 %shifted to i1
  %defined = select i1 %is.there, i32 %word, i32 -842150451  ;  nobody says what it is
  %answer = select i1 %inside, i32 %defined, i32 %value
  ret i32 %answer
}

define i32 @emu_active() {
  %t = load i32, ptr @now
  %w = lshr i32 %t, 5
  %at = getelementptr i32, ptr @alive, i32 %w
  %lanes = load i32, ptr %at
  ret i32 %lanes
}
"""
