(** * A budget: where the relaxation is exact, and where it is not (Corollary 4.3)

    LP1 minimises the errors of the relaxation within a budget on its costs.  A pruning that is as good as the
    relaxation lies on the path: it is optimal for some lambda.  So between the prunings of the path the relaxation is
    strictly better than every pruning, and only at them is the corollary right. *)

Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect all_algebra.
From IpForest Require Import forest program integrality.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Budget.

Variables (R : realFieldType) (I : instance R).
Hypothesis well_formed_I : well_formed I.

Local Notation F := (trees I).
Local Notation T := (size F).
Local Notation K := (units I).
Local Notation N := (examples I).

Implicit Types (s : point R) (a : R).

(** The relaxation of LP1: errors within a budget. *)
Definition within budget s := feasible I s /\ costs I s <= budget.
Definition solves_budget budget s := within budget s /\ forall s', within budget s' -> errors I s <= errors I s'.

(** In units of errors and costs lambda is a slope. *)
Definition optimal_at slope s := forall s', feasible I s' -> errors I s + slope * costs I s <= errors I s' + slope * costs I s'.

(** ** The relaxation is convex *)

Definition mix a s s' : point R := {|
  z := fun h => a * z s h + (1 - a) * z s' h;
  w_tree := fun t k i => a * w_tree s t k i + (1 - a) * w_tree s' t k i;
  w := fun k i => a * w s k i + (1 - a) * w s' k i
|}.

Lemma mix_feasible a s s' : 0 <= a <= 1 -> feasible I s -> feasible I s' -> feasible I (mix a s s').
Proof.
case/andP=> a_ge0; rewrite -subr_ge0 => b_ge0.
case=> -[one use shared] [z0 t0 w0] [[one' use' shared'] [z0' t0' w0']].
have a1 : a * 1 + (1 - a) * 1 = 1 :> R by rewrite !mulr1 addrC subrK.
split.
  split=> /= [h h_leaf|t k i u tT kK iN used|t k i tT kK iN].
  - by rewrite big_split -!mulr_sumr one // one'.
  - by rewrite big_split -!mulr_sumr addrACA -!mulrDr use // use'.
  by rewrite ler_add // ler_wpmul2l ?shared ?shared'.
split=> /= [h h_node|t k i tT kK iN|k i kK iN].
- by rewrite addr_ge0 // mulr_ge0 ?z0 ?z0'.
- by rewrite addr_ge0 // mulr_ge0 ?t0 ?t0'.
by rewrite addr_ge0 // mulr_ge0 ?w0 ?w0'.
Qed.

Lemma mix_sum (A : Type) (r : seq A) a (c f f' : A -> R) :
  \sum_(j <- r) c j * (a * f j + (1 - a) * f' j) = a * (\sum_(j <- r) c j * f j) + (1 - a) * (\sum_(j <- r) c j * f' j).
Proof. by rewrite !mulr_sumr -big_split; apply: eq_bigr => j _; rewrite mulrDr !(mulrCA (c j)). Qed.

Lemma mix_errors a s s' : errors I (mix a s s') = a * errors I s + (1 - a) * errors I s'.
Proof. exact: mix_sum. Qed.

Lemma mix_costs a s s' : costs I (mix a s s') = a * costs I s + (1 - a) * costs I s'.
Proof.
rewrite /costs !mulrDr addrACA; congr (_ + _).
  rewrite -mix_sum; apply: eq_bigr => k _ /=; congr (_ * _).
  by rewrite big_split -!mulr_sumr.
rewrite (mix_sum _ a (fun h => visits I h * (depth F h)%:R)) mulrDr.
by rewrite !(mulrCA (split_price I)).
Qed.

(** ** What solves the budget problem is on the path *)

Lemma pruning_feasible kept : pruning I kept -> feasible I (point_of I kept).
Proof. by move/(point_of_feasible well_formed_I)/feasible_01_box/feasible_box_nonnegative. Qed.

(** It is enough to beat the prunings. *)
Lemma optimal_among_prunings slope s : 0 <= slope ->
  (forall kept, pruning I kept -> errors I s + slope * costs I s
    <= errors I (point_of I kept) + slope * costs I (point_of I kept)) -> optimal_at slope s.
Proof.
move=> slope_ge0 beats s' /(rounding well_formed_I 1 slope_ge0)[kept kept_pruning].
by rewrite /weighted !mul1r; apply: le_trans; apply: beats.
Qed.

(** A pruning of the path solves the relaxation within its own cost. *)
Theorem exact_on_the_path slope s : 0 <= slope -> feasible I s -> optimal_at slope s -> solves_budget (costs I s) s.
Proof.
move=> slope_ge0 s_feasible s_best; split=> // s' [s'_feasible s'_cost].
have := s_best s' s'_feasible; rewrite -ler_subr_addr => /le_trans; apply.
by rewrite -addrA -mulrBr ger_addl -oppr_ge0 -mulrN opprB mulr_ge0 // subr_ge0.
Qed.

(** Only the prunings of the path solve the relaxation within a budget. *)
Theorem exact_only_on_the_path budget kept : pruning I kept -> solves_budget budget (point_of I kept) ->
  exists2 slope, 0 <= slope & optimal_at slope (point_of I kept).
Proof.
move=> kept_pruning [[_ affordable] least].
set e0 := errors I (point_of I kept) in least *; set c0 := costs I (point_of I kept) in affordable *.
have [values valuesP] := pruning_values well_formed_I.
pose dearer := [seq v <- values | (v.1 < e0) && (c0 < v.2)].
have feasible_value v : v \in values -> exists2 s, feasible I s & v = (errors I s, costs I s).
  by move/valuesP=> [kept' /pruning_feasible feasible_s ->]; exists (point_of I kept').
have cheap v : v \in values -> v.2 <= budget -> e0 <= v.1.
  by move=> /feasible_value[s s_feasible ->] /= s_cost; apply: least.
have enough slope : 0 <= slope -> {in values, forall v, e0 + slope * c0 <= v.1 + slope * v.2} ->
    optimal_at slope (point_of I kept).
  move=> slope_ge0 beats; apply: optimal_among_prunings => // kept' kept'_pruning.
  by apply: (beats (_, _)); apply/valuesP; exists kept'.
case dearerE: dearer => [|v0 l].
  exists 0 => //; apply: enough => // v v_in; rewrite !mul0r !addr0 leNgt; apply/negP => v_better.
  have : v \in dearer by rewrite mem_filter v_better v_in andbT ltNge; apply: contraTN v_better;
    rewrite -leNgt => v_c0; apply: cheap v_in (le_trans v_c0 affordable).
  by rewrite dearerE.
have [|best best_in best_least] := least_of (fun v => (v.1 - e0) / (v.2 - c0)) (_ : v0 \in dearer).
  by rewrite dearerE mem_head.
pose slope := (e0 - best.1) / (best.2 - c0).
move: (best_in); rewrite mem_filter => /andP[/andP[best_e best_c] best_value].
have slope_ge0 : 0 <= slope by rewrite divr_ge0 // subr_ge0 ltW.
exists slope => //; apply: enough => // v v_in.
have gap_pos : 0 < best.2 - c0 by rewrite subr_gt0.
suff : e0 - v.1 <= slope * (v.2 - c0).
  by rewrite mulrBr ler_subl_addr addrAC ler_subr_addr [_ + v.1]addrC.
have [c0_v|v_c0] := ltP c0 v.2.
  have [v_e0|e0_v] := ltP v.1 e0; last first.
    by apply: (@le_trans _ _ 0); rewrite ?subr_le0 // mulr_ge0 // subr_ge0 ltW.
  have : v \in dearer by rewrite mem_filter v_e0 c0_v.
  by move=> /best_least; rewrite ler_pdivl_mulr ?subr_gt0 // => slope_max; rewrite -ler_opp2 -!mulNr !opprB.
have D_pos : 0 < best.2 - v.2 by rewrite subr_gt0 (le_lt_trans v_c0 best_c).
pose a := (c0 - v.2) / (best.2 - v.2).
have a_box : 0 <= a <= 1.
  by rewrite divr_ge0 ?subr_ge0 ?(ltW (le_lt_trans v_c0 best_c)) // ler_pdivr_mulr // mul1r ler_add2r ltW.
have aD : a * (best.2 - v.2) = c0 - v.2 by rewrite divfK // gt_eqF.
have mixed (x y : R) : a * x + (1 - a) * y = y + a * (x - y) by rewrite mulrBl mul1r mulrBr addrCA.
have [s s_feasible v_s] := feasible_value _ v_in; have [s' s'_feasible best_s] := feasible_value _ best_value.
have := least (mix a s' s) (conj (mix_feasible a_box s'_feasible s_feasible) _).
rewrite mix_errors mix_costs !mixed.
have [-> -> -> ->] : [/\ errors I s = v.1, costs I s = v.2, errors I s' = best.1 & costs I s' = best.2].
  by rewrite v_s best_s.
rewrite aD addrC subrK => /(_ affordable); rewrite -ler_subl_addl -(ler_pmul2r D_pos) [a * _ * _]mulrAC aD => mixture.
rewrite -(ler_pmul2r gap_pos) mulrAC divfK ?gt_eqF //.
have -> : best.2 - c0 = (best.2 - v.2) - (c0 - v.2) by rewrite opprB addrA subrK.
rewrite mulrBr ler_subl_addr; apply: le_trans mixture _.
by rewrite -[v.2 - c0]opprB mulrN -mulNr opprB -mulrDl [_ * (c0 - v.2)]mulrC addrA subrK.
Qed.

End Budget.

Print Assumptions exact_on_the_path.
Print Assumptions exact_only_on_the_path.
