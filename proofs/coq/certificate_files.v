(** * What a certificate file states, in the units of the data

    [check_pruning_file] and [check_path_file] compare every number that a certificate file states, exactly, and call
    the checkers of checker.v.  Their theorems speak of the objective of the papers: errors in their unit, plus lambda
    times costs in theirs. *)

From Coq Require Import ZArith QArith List Bool Lia.
From IpForest Require Import checker.
Import ListNotations.
Open Scope Q_scope.

Record data := Data {
  trees : forest;
  prices : list (positive * Z);
  error_unit : Q;
  cost_unit : Q
}.

Definition error_rate (D : data) (P : pruning) : Q := error_unit D * inject_Z (error (trees D) P).
Definition cost_rate (D : data) (P : pruning) : Q := cost_unit D * inject_Z (cost (prices D) (trees D) P).
Definition value (D : data) (lambda : Q) (P : pruning) : Q := error_rate D P + lambda * cost_rate D P.

Definition best (D : data) (lambda : Q) (P : pruning) : Prop :=
  prunes (trees D) P /\ forall P', prunes (trees D) P' -> value D lambda P <= value D lambda P'.

Definition positive_units (D : data) : bool := (0 <? Qnum (error_unit D))%Z && (0 <? Qnum (cost_unit D))%Z.

(** p / q is lambda in integer units. *)
Definition same_ratio (D : data) (lambda : Q) (p q : Z) : bool :=
  Qeq_bool (inject_Z p * error_unit D) (inject_Z q * (lambda * cost_unit D)).

Definition quick_cost_rate (D : data) (P : pruning) : Q := cost_unit D * inject_Z (quick_cost (prices D) (trees D) P).

(** ** One pruning *)

Record pruning_claims := PruningClaims {
  lambda : Q; lambda_p : Z; lambda_q : Z;      (* lambda in the units of the data, and in integers: p / q *)
  stated_error : Q; stated_cost : Q; stated_objective : Q; stated_bound : Q
}.

Definition check_pruning_file (D : data) (c : pruning_claims) : bool :=
  let P := kept_part (trees D) in
  let found := error_rate D P + lambda c * quick_cost_rate D P in
  positive_units D && same_ratio D (lambda c) (lambda_p c) (lambda_q c) && check_pruning (lambda_p c) (lambda_q c) (prices D) (trees D)
  && Qeq_bool (stated_error c) (error_rate D P) && Qeq_bool (stated_cost c) (quick_cost_rate D P)
  && Qeq_bool (stated_objective c) found && Qeq_bool (stated_bound c) found.

Section Scaled.

Variable D : data.
Hypothesis units : positive_units D = true.

Lemma error_unit_pos : 0 < error_unit D.
Proof. unfold positive_units in units. rewrite andb_true_iff, !Z.ltb_lt in units. unfold Qlt. cbn. lia. Qed.

Lemma scaled_value lam p q P : same_ratio D lam p q = true ->
  inject_Z q * value D lam P == error_unit D * inject_Z (objective p q (prices D) (trees D) P).
Proof.
  intros ratio. apply Qeq_bool_eq in ratio. unfold value, error_rate, cost_rate, objective.
  rewrite inject_Z_plus, !inject_Z_mult. set (e := inject_Z (error _ _)). set (c := inject_Z (cost _ _ _)).
  transitivity (error_unit D * (inject_Z q * e) + inject_Z q * (lam * cost_unit D) * c); [ring|].
  rewrite <- ratio. ring.
Qed.

Lemma best_of_optimal lam p q P : same_ratio D lam p q = true -> (0 < q)%Z ->
  optimal p q (prices D) (trees D) P -> best D lam P.
Proof.
  intros ratio q_pos [fits least]. split; [assumption|]. intros P' fits'. specialize (least P' fits').
  apply Qmult_le_l with (z := inject_Z q); [unfold Qlt; cbn; lia|].
  rewrite !(scaled_value lam p q) by assumption. apply Qmult_le_l; [exact error_unit_pos|].
  rewrite <- Zle_Qle. exact least.
Qed.

End Scaled.

Theorem check_pruning_file_correct D c : check_pruning_file D c = true ->
  best D (lambda c) (kept_part (trees D))
  /\ stated_error c == error_rate D (kept_part (trees D)) /\ stated_cost c == cost_rate D (kept_part (trees D))
  /\ stated_objective c == value D (lambda c) (kept_part (trees D))
  /\ forall P, prunes (trees D) P -> stated_bound c <= value D (lambda c) P.
Proof.
  unfold check_pruning_file, quick_cost_rate. rewrite quick_cost_correct. fold (cost_rate D (kept_part (trees D))).
  fold (value D (lambda c) (kept_part (trees D))). rewrite !andb_true_iff.
  intros [[[[[[units ratio] checked] an_error] a_cost] an_objective] a_bound].
  assert (optimal_P := check_pruning_optimal _ _ _ _ checked).
  assert (q_pos : (0 < lambda_q c)%Z).
  { unfold check_pruning in checked. rewrite !andb_true_iff, Z.ltb_lt in checked. tauto. }
  assert (B := best_of_optimal D units _ _ _ _ ratio q_pos optimal_P).
  apply Qeq_bool_eq in an_error, a_cost, an_objective, a_bound.
  repeat split; try assumption; try apply B. intros P fits. rewrite a_bound. apply B, fits.
Qed.

(** ** A whole path *)

Record path_claims := PathClaims {
  breakpoints : list (Z * Z);      (* p_b, q_b *)
  stated_breakpoints : list Q;
  stated_errors : list Q;
  stated_costs : list Q
}.

Definition same_numbers (l l' : list Q) : bool :=
  Nat.eqb (length l) (length l') && forallb (fun xy => Qeq_bool (fst xy) (snd xy)) (combine l l').

(** The breakpoints in integer units, where they lie in the units of the data. *)
Definition same_breakpoints (D : data) (c : path_claims) : bool :=
  Nat.eqb (length (breakpoints c)) (length (stated_breakpoints c))
  && forallb (fun x => same_ratio D (snd x) (fst (fst x)) (snd (fst x))) (combine (breakpoints c) (stated_breakpoints c)).

Definition number_of_breakpoints (c : path_claims) : Z := Z.of_nat (length (breakpoints c)).

Definition check_path_file (D : data) (c : path_claims) : bool :=
  let found := curve (number_of_breakpoints c) (prices D) (trees D) in
  positive_units D && check_path (breakpoints c) (prices D) (trees D) && same_breakpoints D c
  && same_numbers (stated_errors c) (map (fun ec => error_unit D * inject_Z (fst ec)) found)
  && same_numbers (stated_costs c) (map (fun ec => cost_unit D * inject_Z (snd ec)) found).

(** lambda is at or above breakpoint b; at or below it. *)
Definition at_or_above (D : data) (c : path_claims) (lam : Q) (b : Z) : Prop :=
  inject_Z (fst (scale_of (breakpoints c) b)) * error_unit D
  <= inject_Z (snd (scale_of (breakpoints c) b)) * (lam * cost_unit D).
Definition at_or_below (D : data) (c : path_claims) (lam : Q) (b : Z) : Prop :=
  inject_Z (snd (scale_of (breakpoints c) b)) * (lam * cost_unit D)
  <= inject_Z (fst (scale_of (breakpoints c) b)) * error_unit D.

(** Every pruning of the path is optimal on its whole interval. *)
Theorem check_path_file_correct D c : check_path_file D c = true ->
  forall i lam, (0 <= i <= number_of_breakpoints c)%Z -> 0 <= lam ->
  (forall b, (0 <= b < i)%Z -> at_or_above D c lam b) ->
  (forall b, (i <= b < number_of_breakpoints c)%Z -> at_or_below D c lam b) ->
  best D lam (cut_at i (trees D)).
Proof.
  unfold check_path_file. rewrite !andb_true_iff. intros [[[[units checked] _] _] _] i lam i_range lam_nonneg above below.
  assert (eu_pos := error_unit_pos D units).
  assert (cu_pos : 0 < cost_unit D).
  { unfold positive_units in units. rewrite andb_true_iff, !Z.ltb_lt in units. unfold Qlt. cbn. lia. }
  set (r := lam * cost_unit D / error_unit D).
  assert (r_is : inject_Z (Qnum r) == r * inject_Z (Zpos (Qden r))).
  { unfold Qeq, inject_Z. cbn [Qnum Qden Qmult]. lia. }
  assert (r_scaled : r * error_unit D == lam * cost_unit D).
  { unfold r. field. intros zero. rewrite zero in eu_pos. apply (Qlt_irrefl 0 eu_pos). }
  assert (ratio_eq : inject_Z (Qnum r) * error_unit D == inject_Z (Zpos (Qden r)) * (lam * cost_unit D)).
  { rewrite r_is, <- r_scaled. ring. }
  assert (ratio : same_ratio D lam (Qnum r) (Zpos (Qden r)) = true) by (apply Qeq_eq_bool; exact ratio_eq).
  assert (r_nonneg : (0 <= Qnum r)%Z).
  { assert (0 <= r * error_unit D) by (rewrite r_scaled; apply Qmult_le_0_compat; [assumption | apply Qlt_le_weak, cu_pos]).
    assert (0 <= r); [|unfold Qle in *; cbn in *; lia].
    apply Qmult_le_r with (z := error_unit D); [assumption|]. rewrite Qmult_0_l. assumption. }
  assert (cross : forall a b x y : Z, inject_Z (a * x) * error_unit D <= inject_Z (b * y) * error_unit D -> (a * x <= b * y)%Z).
  { intros a b x y le. apply Qmult_le_r in le; [|assumption]. rewrite <- Zle_Qle in le. exact le. }
  apply (best_of_optimal D units lam (Qnum r) (Zpos (Qden r))); [exact ratio | lia |].
  apply (check_path_optimal (breakpoints c) (prices D) (trees D) checked); try assumption; [lia | |].
  - intros b b_range. specialize (above b b_range). unfold at_or_above in above. apply cross. rewrite !inject_Z_mult.
    apply Qle_trans with (y := inject_Z (snd (scale_of (breakpoints c) b)) * (lam * cost_unit D) * inject_Z (Zpos (Qden r))).
    + assert (forall x y z, x * y * z == x * z * y) as swap by (intros; ring). rewrite (swap _ _ (error_unit D)).
      apply Qmult_le_r; [unfold Qlt; cbn; lia | exact above].
    + apply Qle_lteq. right. rewrite (Qmult_comm (inject_Z (Qnum r))), <- (Qmult_assoc _ (inject_Z (Qnum r))), ratio_eq. ring.
  - intros b b_range. specialize (below b b_range). unfold at_or_below in below. apply cross. rewrite !inject_Z_mult.
    apply Qle_trans with (y := inject_Z (snd (scale_of (breakpoints c) b)) * (lam * cost_unit D) * inject_Z (Zpos (Qden r))).
    + apply Qle_lteq. right. rewrite (Qmult_comm (inject_Z (Qnum r))), <- (Qmult_assoc _ (inject_Z (Qnum r))), ratio_eq. ring.
    + assert (forall x y z, x * y * z == x * z * y) as swap by (intros; ring). rewrite (swap _ _ (error_unit D)).
      apply Qmult_le_r; [unfold Qlt; cbn; lia | exact below].
Qed.

Print Assumptions check_pruning_file_correct.
Print Assumptions check_path_file_correct.
