(** * Maximum flow and minimum cut

    In a finite network with capacities in any ordered field there is a flow as large as the smallest cut.  Reduce the
    capacities, arc by arc, as far as every cut stays large enough.  Then each arc that still has capacity lies in a
    smallest cut, and the capacities themselves are a flow: smallest cuts may be united and intersected, so the arcs
    into a vertex lie in one smallest cut together, which does not shrink when the vertex joins it. *)

Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section MaximumFlow.

Variables (R : realFieldType) (V : finType) (source sink : V).

Implicit Types (c : V * V -> R) (S : {set V}) (e : V * V).

Definition separates S := (source \in S) && (sink \notin S).
Definition leaves_set S e := (e.1 \in S) && (e.2 \notin S).
Definition cut c S : R := \sum_e (leaves_set S e)%:R * c e.
Definition nonneg c := forall e, 0 <= c e.

Definition into c v : R := \sum_e (e.2 == v)%:R * c e.
Definition out_of c v : R := \sum_e (e.1 == v)%:R * c e.

Lemma cut_le c S (f : V * V -> R) : nonneg c ->
  (forall e, 0 < c e -> (leaves_set S e)%:R <= f e) -> cut c S <= \sum_e f e * c e.
Proof.
move=> c_ge0 le_f; apply: ler_sum => e _; have := c_ge0 e; rewrite le_eqVlt => /orP[/eqP<-|c_gt0].
  by rewrite !mulr0.
by rewrite ler_wpmul2r ?c_ge0 ?le_f.
Qed.

Variable m : R.

Definition large_cuts c := forall S, separates S -> m <= cut c S.
Definition smallest c S := separates S /\ cut c S <= m.

Lemma submodular c S S' : nonneg c -> cut c (S :|: S') + cut c (S :&: S') <= cut c S + cut c S'.
Proof.
move=> c_ge0; rewrite -!big_split; apply: ler_sum => e _ /=; rewrite -!mulrDl ler_wpmul2r // -!natrD ler_nat.
by rewrite /leaves_set !inE; do 4!case: (_ \in _).
Qed.

Lemma smallest_union c S S' : nonneg c -> large_cuts c ->
  smallest c S -> smallest c S' -> smallest c (S :|: S') /\ smallest c (S :&: S').
Proof.
move=> c_ge0 large [/andP[s_S t_S] S_le] [/andP[s_S' t_S'] S'_le].
have sepU : separates (S :|: S') by rewrite /separates !inE s_S (negbTE t_S) (negbTE t_S').
have sepI : separates (S :&: S') by rewrite /separates !inE s_S s_S' (negbTE t_S).
have := le_trans (submodular S S' c_ge0) (ler_add S_le S'_le).
have U_ge := large _ sepU; have I_ge := large _ sepI => sum_le.
split; split=> //.
  by rewrite -(ler_add2r m); apply: le_trans sum_le; rewrite ler_add2l.
by rewrite -(ler_add2l m); apply: le_trans sum_le; rewrite ler_add2r.
Qed.

(** ** Reducing the capacities *)

Definition tight c e := c e = 0 \/ exists2 S, smallest c S & leaves_set S e.

Lemma cut_reduced c a d S :
  cut (fun e => c e - (e == a)%:R * d) S = cut c S - (leaves_set S a)%:R * d.
Proof.
rewrite /cut; under eq_bigr do rewrite mulrBr; rewrite sumrB; congr (_ - _).
rewrite (bigD1 a) //= eqxx mul1r big1 ?addr0 // => e /negbTE->.
by rewrite mul0r mulr0.
Qed.

Lemma tight_reduced c c' e : nonneg c' -> (forall e, c' e <= c e) -> tight c e -> tight c' e.
Proof.
move=> c'_ge0 c'_le [c0|[S [sep_S S_le] e_S]]; [left | right].
  by apply: le_anti; rewrite -{1}c0 c'_le c'_ge0.
exists S => //; split=> //; apply: le_trans S_le.
by apply: ler_sum => e' _; rewrite ler_wpmul2l ?ler0n.
Qed.

Lemma reduce_arc c a : nonneg c -> large_cuts c ->
  exists c', [/\ nonneg c', forall e, c' e <= c e, large_cuts c' & tight c' a].
Proof.
move=> c_ge0 large; pose crossing S := separates S && leaves_set S a.
have reduced d : 0 <= d <= c a -> (forall S, crossing S -> d <= cut c S - m) ->
    let c' e := c e - (e == a)%:R * d in [/\ nonneg c', forall e, c' e <= c e & large_cuts c'].
  case/andP=> d_ge0 d_le d_small c'; split=> [e|e|S sep_S]; rewrite /c'.
  - by case: eqP => [->|_]; rewrite ?mul1r ?mul0r ?subr0 ?subr_ge0.
  - by rewrite ler_subl_addr ler_addl mulr_ge0 ?ler0n.
  rewrite cut_reduced; have [a_S|_] := boolP (leaves_set S a); last by rewrite mul0r subr0 large.
  by rewrite mul1r ler_subr_addr -ler_subr_addl d_small // /crossing sep_S.
case: (pickP crossing) => [S0 S0_crossing|none]; last first.
  have [|S|c'_ge0 c'_le c'_large] := reduced (c a); first by rewrite c_ge0 lexx.
    by rewrite none.
  by eexists; split; eauto; left; rewrite eqxx mul1r subrr.
have [S S_crossing S_least] := @arg_minP _ _ _ S0 crossing (cut c) S0_crossing.
have /andP[sep_S a_S] := S_crossing.
pose d := Num.min (c a) (cut c S - m).
have [||c'_ge0 c'_le c'_large] := reduced d.
- by rewrite le_minr c_ge0 subr_ge0 large // le_minl lexx.
- by move=> S' S'_crossing; rewrite /d le_minl ler_add2r S_least ?orbT.
eexists; split; eauto; have [d_c|/ltW d_S] := leP (c a) (cut c S - m).
  by left; rewrite /d eqxx mul1r (min_idPl d_c) subrr.
right; exists S => //; split=> //; rewrite cut_reduced a_S mul1r /d (min_idPr d_S).
by rewrite opprB addrC subrK.
Qed.

Lemma reduce c : nonneg c -> large_cuts c ->
  exists c', [/\ nonneg c', forall e, c' e <= c e, large_cuts c' & forall e, tight c' e].
Proof.
move=> c_ge0 large.
suff [c' [? ? ? c'_tight]] : exists c', [/\ nonneg c', forall e, c' e <= c e, large_cuts c'
    & {in enum [finType of V * V], forall e, tight c' e}].
  by exists c'; split=> // e; apply: c'_tight; rewrite mem_enum.
elim: (enum _) => [|a arcs [c1 [c1_ge0 c1_le c1_large c1_tight]]].
  by exists c; split=> //.
have [c2 [c2_ge0 c2_le c2_large a_tight]] := reduce_arc a c1_ge0 c1_large.
exists c2; split=> // [e|e]; first exact: le_trans (c2_le e) (c1_le e).
by rewrite inE => /orP[/eqP->//|/c1_tight]; apply: tight_reduced.
Qed.

(** ** What is left is a flow *)

Section Reduced.

Variable c : V * V -> R.
Hypothesis c_ge0 : nonneg c.
Hypothesis large : large_cuts c.
Hypothesis all_tight : forall e, tight c e.

(** One smallest cut lies before a vertex, and one behind it, for all arcs in a list. *)
Lemma cut_before v (arcs : seq (V * V)) : {in arcs, forall e, e.2 == v -> c e = 0} \/
  exists2 S, smallest c S /\ v \notin S & {in arcs, forall e, e.2 == v -> 0 < c e -> e.1 \in S}.
Proof.
elim: arcs => [|a arcs IH]; first by left.
have [[S [S_small v_S] a_S]|a0] : (exists2 S, smallest c S /\ v \notin S & a.1 \in S) \/ (a.2 == v -> c a = 0).
- have [/eqP<-|_] := boolP (a.2 == v); last by right.
  have [->|[S S_small /andP[a1 a2]]] := all_tight a; first by right.
  by left; exists S.
- right; case: IH => [zero|[S' [S'_small v_S'] arcs_S']].
    by exists S => // e; rewrite inE => /orP[/eqP->//|/zero e0 /e0->]; rewrite ltxx.
  exists (S :|: S'); first by split; [exact: (smallest_union c_ge0 large S_small S'_small).1 | rewrite inE negb_or v_S].
  by move=> e; rewrite !inE => /orP[/eqP->|e_arcs e_v e_pos]; rewrite ?a_S // (arcs_S' e) ?orbT.
case: IH => [zero|[S S_small arcs_S]]; [left | right; exists S => //] => e; rewrite inE => /orP[/eqP->|] //.
- exact: zero.
- by move=> /a0->; rewrite ltxx.
exact: arcs_S.
Qed.

Lemma cut_behind v (arcs : seq (V * V)) : {in arcs, forall e, e.1 == v -> c e = 0} \/
  exists2 S, smallest c S /\ v \in S & {in arcs, forall e, e.1 == v -> 0 < c e -> e.2 \notin S}.
Proof.
elim: arcs => [|a arcs IH]; first by left.
have [[S [S_small v_S] a_S]|a0] : (exists2 S, smallest c S /\ v \in S & a.2 \notin S) \/ (a.1 == v -> c a = 0).
- have [/eqP<-|_] := boolP (a.1 == v); last by right.
  have [->|[S S_small /andP[a1 a2]]] := all_tight a; first by right.
  by left; exists S.
- right; case: IH => [zero|[S' [S'_small v_S'] arcs_S']].
    by exists S => // e; rewrite inE => /orP[/eqP->//|/zero e0 /e0->]; rewrite ltxx.
  exists (S :&: S'); first by split; [exact: (smallest_union c_ge0 large S_small S'_small).2 | rewrite inE v_S].
  by move=> e; rewrite !inE => /orP[/eqP->|e_arcs e_v e_pos]; rewrite ?negb_and ?a_S // (arcs_S' e) ?orbT.
case: IH => [zero|[S S_small arcs_S]]; [left | right; exists S => //] => e; rewrite inE => /orP[/eqP->|] //.
- exact: zero.
- by move=> /a0->; rewrite ltxx.
exact: arcs_S.
Qed.

Lemma sum_of_three (f g h : V * V -> R) :
  \sum_e (f e - g e + h e) * c e = \sum_e f e * c e - \sum_e g e * c e + \sum_e h e * c e.
Proof. by rewrite -sumrB -big_split; apply: eq_bigr => e _; rewrite mulrDl mulrBl. Qed.

Lemma into_le_out v : v != sink -> into c v <= out_of c v.
Proof.
move=> v_sink; have [zero|[S [[/andP[s_S t_S] S_le] v_S] arcs_S]] := cut_before v (enum [finType of V * V]).
  rewrite /into big1 => [|e _]; first by apply: sumr_ge0 => e _; rewrite mulr_ge0 ?ler0n.
  by have := zero e; rewrite mem_enum; case: (_ == v) => [/(_ isT isT)->|_]; rewrite ?mulr0 ?mul0r.
have sep_v : separates (v |: S) by rewrite /separates !inE s_S (negbTE t_S) orbT orbF eq_sym.
have : cut c (v |: S) <= \sum_e ((leaves_set S e)%:R - (e.2 == v)%:R + (e.1 == v)%:R) * c e.
  apply: cut_le => // -[a b] e_pos; have := arcs_S (a, b); rewrite mem_enum => /(_ isT) /=.
  rewrite /leaves_set !inE /= e_pos; case: eqVneq => [-> a_S|_ _]; rewrite /= ?andbF ?subr0.
    by rewrite a_S // v_S subrr add0r ler0n.
  by rewrite -natrD ler_nat; case: (a == v); case: (a \in S); case: (b \in S).
rewrite sum_of_three -/(cut c S) -/(into c v) -/(out_of c v) => /(le_trans (large sep_v)).
move=> m_le; have := le_trans m_le (ler_add (ler_add S_le (lexx (- into c v))) (lexx (out_of c v))).
by rewrite -addrA ler_addl addrC subr_ge0.
Qed.

Lemma out_le_into v : v != source -> out_of c v <= into c v.
Proof.
move=> v_source; have [zero|[S [[/andP[s_S t_S] S_le] v_S] arcs_S]] := cut_behind v (enum [finType of V * V]).
  rewrite /out_of big1 => [|e _]; first by apply: sumr_ge0 => e _; rewrite mulr_ge0 ?ler0n.
  by have := zero e; rewrite mem_enum; case: (_ == v) => [/(_ isT isT)->|_]; rewrite ?mulr0 ?mul0r.
have sep_v : separates (S :\ v) by rewrite /separates !inE s_S (negbTE t_S) andbF eq_sym v_source.
have : cut c (S :\ v) <= \sum_e ((leaves_set S e)%:R - (e.1 == v)%:R + (e.2 == v)%:R) * c e.
  apply: cut_le => // -[a b] e_pos; have := arcs_S (a, b); rewrite mem_enum => /(_ isT) /=.
  rewrite /leaves_set !inE /= e_pos; case: eqVneq => [-> b_S|_ _]; rewrite /= ?subr0.
    by rewrite b_S // v_S subrr add0r ler0n.
  by rewrite -natrD ler_nat; case: (b == v); case: (a \in S); case: (b \in S).
rewrite sum_of_three -/(cut c S) -/(into c v) -/(out_of c v) => /(le_trans (large sep_v)).
move=> m_le; have := le_trans m_le (ler_add (ler_add S_le (lexx (- out_of c v))) (lexx (into c v))).
by rewrite -addrA ler_addl addrC subr_ge0.
Qed.

End Reduced.

(** ** The theorem *)

Theorem maximum_flow c : nonneg c -> source != sink -> large_cuts c ->
  exists f : V * V -> R, [/\ forall e, 0 <= f e <= c e,
    forall v, v != source -> v != sink -> into f v = out_of f v
    & m <= \sum_(v | v != source) f (source, v)].
Proof.
move=> c_ge0 apart large; have [f [f_ge0 f_le f_large f_tight]] := reduce c_ge0 large.
exists f; split=> [e|v v_source v_sink|]; first by rewrite f_ge0 f_le.
  by apply: le_anti; rewrite into_le_out // out_le_into.
have sep : separates [set source] by rewrite /separates !inE eqxx eq_sym apart.
apply: le_trans (f_large _ sep) _.
have -> : cut f [set source] = \sum_u \sum_v (leaves_set [set source] (u, v))%:R * f (u, v).
  by rewrite pair_bigA; apply: eq_bigr => -[].
rewrite (bigD1 source) //= [X in _ + X]big1 ?addr0 => [|u u_source].
  rewrite [X in _ <= X]big_mkcond ler_sum // => v _; rewrite /leaves_set !inE eqxx /=.
  by case: (v != source); rewrite ?mul1r ?mul0r.
by rewrite big1 // => v _; rewrite /leaves_set !inE (negbTE u_source) mul0r.
Qed.

End MaximumFlow.

Print Assumptions maximum_flow.
