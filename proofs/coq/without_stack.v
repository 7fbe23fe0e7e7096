(** * The checkers once more, in functions that need no stack

    What is extracted here are [run_pruning_file] and [run_path_file]: the same answers as [check_pruning_file] and
    [check_path_file], proved equal.  Their loops over lists have accumulators, and those over forests are told what to
    do next ([next]), so that all recursive calls are tail calls: forests of any size and depth are read. *)

From Coq Require Import ZArith QArith List Bool Lia FMapPositive.
From IpForest Require Import checker certificate_files.
Import ListNotations.
Open Scope Z_scope.

(** ** Lists *)

Definition fold_back {A B} (f : A -> B -> B) (b : B) (l : list A) : B :=
  fold_left (fun b a => f a b) (rev_append l []) b.

Lemma fold_back_same A B (f : A -> B -> B) b l : fold_back f b l = fold_right f b l.
Proof. unfold fold_back. rewrite <- (rev_involutive l) at 2. rewrite fold_left_rev_right, rev_append_rev, app_nil_r. reflexivity. Qed.

Definition sum_back {A} (f : A -> Z) (l : list A) : Z := fold_back (fun x s => f x + s) 0 l.

Lemma sum_back_same A (f : A -> Z) l : sum_back f l = sum f l.
Proof. apply fold_back_same. Qed.

Definition map_back {A B C} (h : A -> list B) (f : A -> B -> C) (l : list A) : list C :=
  fold_back (fun x rest => fold_back (fun u rest => f x u :: rest) rest (h x)) [] l.

Lemma map_back_same A B C (h : A -> list B) (f : A -> B -> C) l : map_back h f l = flat_map (fun x => map (f x) (h x)) l.
Proof.
  unfold map_back. rewrite fold_back_same. induction l as [|x l IH]; [reflexivity|]. cbn [fold_right flat_map].
  rewrite IH, fold_back_same. generalize (flat_map (fun x => map (f x) (h x)) l) as rest. intros.
  induction (h x) as [|u us IHu]; [reflexivity|]. cbn. rewrite IHu. reflexivity.
Qed.

Definition uses_back (l : list (node * Z)) : list (positive * Z) := map_back (fun x => uses (fst x)) (fun _ u => u) l.

Lemma uses_back_same l : uses_back l = uses_of l.
Proof. unfold uses_back, uses_of. rewrite map_back_same. apply flat_map_ext. intros x. apply map_id. Qed.

Definition inflow_back (l : list (positive * Z)) : PositiveMap.t Z :=
  fold_back (fun u m => PositiveMap.add (fst u) (snd u + get m 0 (fst u)) m) (PositiveMap.empty Z) l.

Lemma inflow_back_same l : inflow_back l = inflow l.
Proof. apply fold_back_same. Qed.

Definition owners_back (l : list (positive * Z)) : PositiveMap.t Z :=
  fold_back (fun u m => PositiveMap.add (fst u) (Z.max (snd u) (get m (-1) (fst u))) m) (PositiveMap.empty Z) l.

Lemma owners_back_same l : owners_back l = owners l.
Proof. apply fold_back_same. Qed.

Definition known_back (prices l : list (positive * Z)) : bool :=
  let m := fold_back (fun a m => PositiveMap.add (fst a) (snd a) m) (PositiveMap.empty Z) prices in
  forallb (fun u => PositiveMap.mem (fst u) m) l.

Lemma known_back_same prices l : known_back prices l = known_uses prices l.
Proof. unfold known_back. rewrite fold_back_same. reflexivity. Qed.

(** ** Forests *)

Fixpoint root_errors_from (s : Z) (F : forest) : Z :=
  match F with Nil => s | Tree n _ beside => root_errors_from (s + errors n) beside end.
Fixpoint up_total_from (s : Z) (F : forest) : Z :=
  match F with Nil => s | Tree n _ beside => up_total_from (s + up n) beside end.

Lemma root_errors_from_same F : forall s, root_errors_from s F = s + root_errors F.
Proof. induction F as [|n below _ beside IH]; intros s; cbn; [|rewrite IH]; ring. Qed.
Lemma up_total_from_same F : forall s, up_total_from s F = s + up_total F.
Proof. induction F as [|n below _ beside IH]; intros s; cbn; [|rewrite IH]; ring. Qed.

(** The pruning that keeps the nodes for which [keeps] holds, and whose parents are kept. *)
Fixpoint part (keeps : node -> forest -> bool) (F : forest) : pruning :=
  match F with
  | Nil => Done
  | Tree n below beside => if keeps n below then Keep (part keeps below) (part keeps beside) else Cut (part keeps beside)
  end.

Definition by_kept (n : node) (below : forest) : bool := kept n.
Definition by_piece (i : Z) (n : node) (below : forest) : bool := match below with Nil => false | _ => i <=? piece n end.
Definition inner (n : node) (below : forest) : bool := match below with Nil => false | _ => true end.

Lemma part_kept F : part by_kept F = kept_part F.
Proof. induction F as [|n below IHb beside IHs]; [reflexivity|]. cbn. rewrite IHb, IHs. reflexivity. Qed.

Lemma part_cut i F : part (by_piece i) F = cut_at i F.
Proof.
  induction F as [|n below IHb beside IHs]; [reflexivity|]. cbn [part cut_at]. rewrite IHb, IHs.
  destruct below; reflexivity.
Qed.

Fixpoint error_from (keeps : node -> forest -> bool) (F : forest) (s : Z) (next : Z -> Z) : Z :=
  match F with
  | Nil => next s
  | Tree n below beside =>
    if keeps n below then error_from keeps below s (fun s => error_from keeps beside s next)
    else error_from keeps beside (s + errors n) next
  end.

Lemma error_from_same keeps F : forall s next, error_from keeps F s next = next (s + error F (part keeps F)).
Proof.
  induction F as [|n below IHb beside IHs]; intros s next; cbn [error_from part error].
  { f_equal. ring. }
  destruct (keeps n below); cbn [error]; [rewrite IHb|]; rewrite IHs; f_equal; ring.
Qed.

Fixpoint nodes_onto (keeps : node -> forest -> bool) (F : forest) (l : list (node * Z))
    (next : list (node * Z) -> list (node * Z)) : list (node * Z) :=
  match F with
  | Nil => next l
  | Tree n below beside =>
    nodes_onto keeps beside l (fun l =>
      if keeps n below then nodes_onto keeps below l (fun l => next ((n, root_errors_from 0 below) :: l)) else next l)
  end.

Lemma nodes_onto_same keeps F : forall l next, nodes_onto keeps F l next = next (kept_nodes F (part keeps F) ++ l).
Proof.
  induction F as [|n below IHb beside IHs]; intros l next; [reflexivity|]. cbn [nodes_onto part]. rewrite IHs.
  destruct (keeps n below); cbn [kept_nodes]; [|reflexivity]. rewrite IHb, root_errors_from_same.
  cbn [app Z.add]. rewrite app_assoc. reflexivity.
Qed.

Definition nodes_of keeps F : list (node * Z) := nodes_onto keeps F [] (fun l => l).
Definition error_of keeps F : Z := error_from keeps F 0 (fun s => s).

Lemma nodes_of_same keeps F : nodes_of keeps F = kept_nodes F (part keeps F).
Proof. unfold nodes_of. rewrite nodes_onto_same. apply app_nil_r. Qed.

Lemma error_of_same keeps F : error_of keeps F = error F (part keeps F).
Proof. unfold error_of. rewrite error_from_same. reflexivity. Qed.

Lemma all_nodes_same F : nodes_of inner F = all_nodes F.
Proof.
  rewrite nodes_of_same. induction F as [|n below IHb beside IHs]; [reflexivity|]. cbn [part all_nodes].
  destruct below as [|n' b s] eqn:is_below; [exact IHs|]. rewrite <- is_below in *.
  replace (inner n below) with true by (rewrite is_below; reflexivity). cbn [kept_nodes]. rewrite IHs, IHb. reflexivity.
Qed.

Definition is_flow_back (n : node) (gain from_below : Z) : bool :=
  (0 <=? errors n) && (0 <=? split_cost n) && (0 <=? gain_arc n) && (0 <=? split_arc n) && (0 <=? up n)
  && forallb (fun u => 0 <=? snd u) (uses n)
  && (from_source n gain + from_below =? up n + sum_back snd (uses n) + split_arc n + to_sink n gain).

Lemma is_flow_back_same n gain from_below : is_flow_back n gain from_below = is_flow n gain from_below.
Proof. unfold is_flow_back. rewrite sum_back_same. reflexivity. Qed.

Fixpoint flow_fits_then (p q : Z) (F : forest) (next : unit -> bool) : bool :=
  match F with
  | Nil => next tt
  | Tree n Nil beside => if is_bare_leaf n then flow_fits_then p q beside next else false
  | Tree n below beside =>
    let gain := errors n - root_errors_from 0 below in
    if is_flow_back n gain (up_total_from 0 below) && (gain_arc n <=? q * Z.abs gain) && (split_arc n <=? p * split_cost n)
    then flow_fits_then p q below (fun _ => flow_fits_then p q beside next) else false
  end.

Lemma flow_fits_then_same p q F : forall next, flow_fits_then p q F next = flow_fits p q F && next tt.
Proof.
  induction F as [|n below IHb beside IHs]; intros next; [reflexivity|]. cbn [flow_fits_then flow_fits].
  destruct below as [|n' b s] eqn:is_below.
  - rewrite IHs. destruct (is_bare_leaf n); reflexivity.
  - rewrite <- is_below in *. rewrite is_flow_back_same, root_errors_from_same, up_total_from_same, IHb, IHs.
    cbn [Z.add]. destruct (_ && _ && _); [apply andb_assoc | reflexivity].
Qed.

Fixpoint closed_then (above : bool) (F : forest) (next : unit -> bool) : bool :=
  match F with
  | Nil => next tt
  | Tree n below beside =>
    if negb above && kept n then false
    else closed_then (above && kept n) below (fun _ => closed_then above beside next)
  end.

Lemma closed_then_same F : forall above next,
  closed_then above F next = (if above then kept_is_closed F else nothing_kept F) && next tt.
Proof.
  induction F as [|n below IHb beside IHs]; intros above next; [destruct above; reflexivity|].
  cbn [closed_then kept_is_closed nothing_kept]. rewrite IHb, IHs.
  destruct above, (kept n); cbn [negb andb]; try apply andb_assoc; reflexivity.
Qed.

Fixpoint pieces_fit_then (k : Z) (scale : Z -> Z * Z) (owner : PositiveMap.t Z) (above : Z) (F : forest)
    (next : unit -> bool) : bool :=
  match F with
  | Nil => next tt
  | Tree n Nil beside => if is_bare_leaf n then pieces_fit_then k scale owner above beside next else false
  | Tree n below beside =>
    let gain := errors n - root_errors_from 0 below in
    let b := piece n in
    if is_flow_back n gain (up_total_from 0 below)
       && (-1 <=? b) && (b <=? k) && (b <=? above) && ((up n =? 0) || (b =? above))
       && gain_fits k b (snd (scale b)) gain (gain_arc n) && (split_arc n =? fst (scale b) * split_cost n)
       && ((b <? k) || (split_cost n =? 0))
       && forallb (fun u => (snd u =? 0) || ((get owner (-1) (fst u) =? b) && (0 <=? b) && (b <? k))) (uses n)
    then pieces_fit_then k scale owner b below (fun _ => pieces_fit_then k scale owner above beside next) else false
  end.

Lemma pieces_fit_then_same k scale owner F : forall above next,
  pieces_fit_then k scale owner above F next = pieces_fit k scale owner above F && next tt.
Proof.
  induction F as [|n below IHb beside IHs]; intros above next; [reflexivity|]. cbn [pieces_fit_then pieces_fit].
  destruct below as [|n' b s] eqn:is_below.
  - rewrite IHs. destruct (is_bare_leaf n); reflexivity.
  - rewrite <- is_below in *. rewrite is_flow_back_same, root_errors_from_same, up_total_from_same, IHb, IHs.
    cbn [Z.add]. destruct (_ && forallb _ _); [apply andb_assoc | reflexivity].
Qed.

Definition cost_of prices keeps F : Z :=
  let nodes := nodes_of keeps F in
  let m := inflow_back (uses_back nodes) in
  sum_back (fun a => if PositiveMap.mem (fst a) m then snd a else 0) prices
  + sum_back (fun x => split_cost (fst x)) nodes.

Lemma cost_of_same prices keeps F : cost_of prices keeps F = quick_cost prices F (part keeps F).
Proof. unfold cost_of, quick_cost. rewrite nodes_of_same, uses_back_same, inflow_back_same, !sum_back_same. reflexivity. Qed.

(** ** The checkers *)

Definition run_pruning (p q : Z) (prices : list (positive * Z)) (F : forest) : bool :=
  let nodes := nodes_of inner F in
  let used := uses_back nodes in
  (0 <=? p) && (0 <? q) && increasing 0 prices && known_back prices used
  && flow_fits_then p q F (fun _ => true) && (up_total_from 0 F =? 0) && closed_then true F (fun _ => true)
  && (let m := inflow_back used in forallb (fun a => get m 0 (fst a) <=? p * snd a) prices)
  && (q * error_of by_kept F + p * cost_of prices by_kept F =? q * root_errors_from 0 F - sum_back (unsent q) nodes).

Lemma run_pruning_same p q prices F : run_pruning p q prices F = check_pruning p q prices F.
Proof.
  unfold run_pruning, check_pruning. rewrite !all_nodes_same, uses_back_same, known_back_same, flow_fits_then_same,
    closed_then_same, inflow_back_same, error_of_same, cost_of_same, part_kept, sum_back_same, up_total_from_same,
    root_errors_from_same, !andb_true_r. reflexivity.
Qed.

Definition run_curve (k : Z) prices (F : forest) : list (Z * Z) :=
  map (fun i => (error_of (by_piece i) F, cost_of prices (by_piece i) F)) (numbers 0 (Z.to_nat (k + 1))).

Lemma run_curve_same k prices F : run_curve k prices F = curve k prices F.
Proof. apply map_ext. intros i. rewrite error_of_same, cost_of_same, part_cut. reflexivity. Qed.

Definition run_path (breakpoints : list (Z * Z)) (prices : list (positive * Z)) (F : forest) (found : list (Z * Z)) : bool :=
  let k := Z.of_nat (length breakpoints) in
  let scale := scale_of breakpoints in
  let nodes := nodes_of inner F in
  let used := uses_back nodes in
  let owner := owners_back (map_back (fun x => uses (fst x)) (fun x u => (fst u, piece (fst x))) nodes) in
  rising breakpoints && positive_scales k scale && increasing 0 prices && known_back prices used
  && pieces_fit_then k scale owner (k + 1) F (fun _ => true) && falling (map snd found)
  && (let m := inflow_back used in
      forallb (fun a => let b := get owner (-1) (fst a) in
                        (get m 0 (fst a) =? fst (scale b) * snd a) && ((b <? k) || (snd a =? 0))) prices).

Lemma run_path_same breakpoints prices F :
  run_path breakpoints prices F (curve (Z.of_nat (length breakpoints)) prices F) = check_path breakpoints prices F.
Proof.
  unfold run_path, check_path, uses_by_piece. rewrite !all_nodes_same, uses_back_same, known_back_same, map_back_same,
    owners_back_same, pieces_fit_then_same, inflow_back_same, !andb_true_r. reflexivity.
Qed.

(** ** Files *)

Local Open Scope Q_scope.

Definition run_pruning_file (D : data) (c : pruning_claims) : bool :=
  let error := error_unit D * inject_Z (error_of by_kept (trees D)) in
  let cost := cost_unit D * inject_Z (cost_of (prices D) by_kept (trees D)) in
  let found := error + lambda c * cost in
  positive_units D && same_ratio D (lambda c) (lambda_p c) (lambda_q c)
  && run_pruning (lambda_p c) (lambda_q c) (prices D) (trees D)
  && Qeq_bool (stated_error c) error && Qeq_bool (stated_cost c) cost
  && Qeq_bool (stated_objective c) found && Qeq_bool (stated_bound c) found.

Theorem run_pruning_file_same D c : run_pruning_file D c = check_pruning_file D c.
Proof.
  unfold run_pruning_file, check_pruning_file, error_rate, quick_cost_rate.
  rewrite run_pruning_same, error_of_same, cost_of_same, part_kept. reflexivity.
Qed.

Definition run_path_file (D : data) (c : path_claims) : bool :=
  let found := run_curve (number_of_breakpoints c) (prices D) (trees D) in
  positive_units D && run_path (breakpoints c) (prices D) (trees D) found && same_breakpoints D c
  && same_numbers (stated_errors c) (map (fun ec => error_unit D * inject_Z (fst ec)) found)
  && same_numbers (stated_costs c) (map (fun ec => cost_unit D * inject_Z (snd ec)) found).

Theorem run_path_file_same D c : run_path_file D c = check_path_file D c.
Proof.
  unfold run_path_file, check_path_file, number_of_breakpoints. rewrite run_curve_same, run_path_same. reflexivity.
Qed.

Theorem run_pruning_file_correct D c : run_pruning_file D c = true ->
  best D (lambda c) (kept_part (trees D))
  /\ stated_error c == error_rate D (kept_part (trees D)) /\ stated_cost c == cost_rate D (kept_part (trees D))
  /\ stated_objective c == value D (lambda c) (kept_part (trees D))
  /\ forall P, prunes (trees D) P -> stated_bound c <= value D (lambda c) P.
Proof. rewrite run_pruning_file_same. apply check_pruning_file_correct. Qed.

Theorem run_path_file_correct D c : run_path_file D c = true ->
  forall i lam, (0 <= i <= number_of_breakpoints c)%Z -> 0 <= lam ->
  (forall b, (0 <= b < i)%Z -> at_or_above D c lam b) ->
  (forall b, (i <= b < number_of_breakpoints c)%Z -> at_or_below D c lam b) ->
  best D lam (cut_at i (trees D)).
Proof. rewrite run_path_file_same. apply check_path_file_correct. Qed.

Print Assumptions run_pruning_file_correct.
Print Assumptions run_path_file_correct.
