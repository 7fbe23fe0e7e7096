(** * What has been proved of the checkers, once more: see statements.v *)

From Coq Require Import ZArith QArith.
From IpForest Require Import checker certificate_files without_stack.

Local Open Scope Z_scope.

Check check_pruning_optimal : forall (p q : Z) (prices : list (positive * Z)) (F : forest),
  check_pruning p q prices F = true ->
  prunes F (kept_part F) /\
  forall P, prunes F P ->
    q * error F (kept_part F) + p * cost prices F (kept_part F) <= q * error F P + p * cost prices F P.

Check check_path_optimal : forall (breakpoints : list (Z * Z)) (prices : list (positive * Z)) (F : forest),
  check_path breakpoints prices F = true ->
  forall i p q : Z, 0 <= i <= Z.of_nat (length breakpoints) -> 0 <= p -> 0 < q ->
  (forall b, 0 <= b < i -> fst (scale_of breakpoints b) * q <= p * snd (scale_of breakpoints b)) ->
  (forall b, i <= b < Z.of_nat (length breakpoints) ->
    p * snd (scale_of breakpoints b) <= fst (scale_of breakpoints b) * q) ->
  prunes F (cut_at i F) /\
  forall P, prunes F P ->
    q * error F (cut_at i F) + p * cost prices F (cut_at i F) <= q * error F P + p * cost prices F P.

Check optimal_within_its_cost : forall (p q : Z) (prices : list (positive * Z)) (F : forest) (P : pruning),
  0 <= p -> 0 < q -> optimal p q prices F P ->
  forall P', prunes F P' -> cost prices F P' <= cost prices F P -> error F P <= error F P'.

Local Open Scope Q_scope.

Check check_pruning_file_correct : forall (D : data) (c : pruning_claims), check_pruning_file D c = true ->
  best D (lambda c) (kept_part (trees D))
  /\ stated_error c == error_rate D (kept_part (trees D))
  /\ stated_cost c == cost_rate D (kept_part (trees D))
  /\ stated_objective c == value D (lambda c) (kept_part (trees D))
  /\ forall P, prunes (trees D) P -> stated_bound c <= value D (lambda c) P.

Check check_path_file_correct : forall (D : data) (c : path_claims), check_path_file D c = true ->
  forall (i : Z) (lam : Q), (0 <= i <= number_of_breakpoints c)%Z -> 0 <= lam ->
  (forall b, (0 <= b < i)%Z -> at_or_above D c lam b) ->
  (forall b, (i <= b < number_of_breakpoints c)%Z -> at_or_below D c lam b) ->
  best D lam (cut_at i (trees D)).

(** What is extracted: the same answers. *)
Check run_pruning_file_same : forall (D : data) (c : pruning_claims), run_pruning_file D c = check_pruning_file D c.
Check run_path_file_same : forall (D : data) (c : path_claims), run_path_file D c = check_path_file D c.

Check run_pruning_file_correct : forall (D : data) (c : pruning_claims), run_pruning_file D c = true ->
  best D (lambda c) (kept_part (trees D))
  /\ stated_error c == error_rate D (kept_part (trees D))
  /\ stated_cost c == cost_rate D (kept_part (trees D))
  /\ stated_objective c == value D (lambda c) (kept_part (trees D))
  /\ forall P, prunes (trees D) P -> stated_bound c <= value D (lambda c) P.

Check run_path_file_correct : forall (D : data) (c : path_claims), run_path_file D c = true ->
  forall (i : Z) (lam : Q), (0 <= i <= number_of_breakpoints c)%Z -> 0 <= lam ->
  (forall b, (0 <= b < i)%Z -> at_or_above D c lam b) ->
  (forall b, (i <= b < number_of_breakpoints c)%Z -> at_or_below D c lam b) ->
  best D lam (cut_at i (trees D)).
