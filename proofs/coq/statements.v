(** * What has been proved of the program, once more

    Each main theorem with its whole statement.  A theorem that is weakened where it is proved, by a further assumption
    or a smaller claim, no longer has this type, and this file does not compile. *)

Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect all_algebra.
From IpForest Require Import forest program integrality certificate unimodularity vertices maxflow duality budget delays.
From IpForest Require checker correspondence.

Local Open Scope ring_scope.

(** ** The relaxation of IP3 is exact (Theorem 3.2 / 4.2) *)

Check integrality : forall (R : realFieldType) (I : instance R), well_formed I -> forall lambda : R, 0 <= lambda ->
  forall s : point R, feasible I s -> exists2 s01 : point R, feasible_01 I s01 & objective I lambda s01 <= objective I lambda s.

Check integrality_box : forall (R : realFieldType) (I : instance R), well_formed I -> forall lambda : R, 0 <= lambda ->
  forall s : point R, feasible_box I s -> exists2 s01 : point R, feasible_01 I s01 & objective I lambda s01 <= objective I lambda s.

Check relaxation_exact : forall (R : realFieldType) (I : instance R), well_formed I -> forall lambda : R, 0 <= lambda ->
  forall bound : R, (forall s : point R, feasible_01 I s -> bound <= objective I lambda s) <->
                    (forall s : point R, feasible I s -> bound <= objective I lambda s).

Check optimal_pruning_exists : forall (R : realFieldType) (I : instance R), well_formed I -> forall lambda : R, 0 <= lambda ->
  exists2 kept : pred nat, pruning I kept &
    forall s : point R, feasible I s -> objective I lambda (point_of I kept) <= objective I lambda s.

Check point_of_feasible : forall (R : realFieldType) (I : instance R), well_formed I ->
  forall kept : pred nat, pruning I kept -> feasible_01 I (point_of I kept).

Check feasible_01_is_pruning : forall (R : realFieldType) (I : instance R), well_formed I ->
  forall s : point R, feasible_01 I s -> exists2 kept : pred nat, pruning I kept &
    [/\ forall h : nat, h \in nodes (trees I) -> z s h = z (point_of I kept) h,
        forall t k i u : nat, (t < asks I)%N -> (k < units I)%N -> (i < examples I)%N ->
          first_use I t k i = Some u -> w_tree s t k i = w_tree (point_of I kept) t k i
      & forall k i : nat, (k < units I)%N -> (i < examples I)%N -> w (point_of I kept) k i <= w s k i].

(** ** Its matrix is totally unimodular, and its vertices are integral *)

Check constraint_matrix_totally_unimodular : forall (R : realFieldType) (I : instance R), well_formed I ->
  forall (k : nat) (f : 'I_k -> 'I_(size (rows I))) (g : 'I_k -> 'I_(size (variables I))), injective f -> injective g ->
  \det (mxsub f g (constraint_matrix I)) \in [:: 0; 1; -1].

Check constraint_matrixP : forall (R : realFieldType) (I : instance R), well_formed I -> forall s : point R,
  constraints I s <-> forall i : 'I_(size (rows I)),
    match tnth (in_tuple (rows I)) i with
    | inl _ => (constraint_matrix I *m values I s) i 0 = 1
    | inr (_, _, _) => (constraint_matrix I *m values I s) i 0 <= 0
    end.

Check vertex_integral : forall (R : realFieldType) (m n : nat) (A : 'M[R]_(m, n)) (b : 'cV[R]_m),
  totally_unimodular A -> (forall i : 'I_m, exists v : int, b i 0 = v%:~R) ->
  forall (f : 'I_n -> 'I_m) (x : 'cV[R]_n),
  \det (rowsub f A) != 0 -> rowsub f A *m x = rowsub f b -> forall j : 'I_n, exists v : int, x j 0 = v%:~R.

Check relaxation_vertices_integral : forall (R : realFieldType) (I : instance R), well_formed I ->
  forall (f : 'I_(size (variables I)) -> 'I_(size (rows I) + size (variables I))) (x : 'cV[R]_(size (variables I))),
  \det (rowsub f (col_mx (constraint_matrix I) 1%:M)) != 0 ->
  rowsub f (col_mx (constraint_matrix I) 1%:M) *m x = rowsub f (right_side I) ->
  forall j : 'I_(size (variables I)), exists v : int, x j 0 = v%:~R.

Check tu_by_change : forall (R : realFieldType) (m n : nat) (A : 'M[R]_(m, n)) (M : 'M[R]_n),
  \det M != 0 -> difference_rows M -> difference_rows (A *m M) -> totally_unimodular A.

Check difference_rows_det : forall (R : realFieldType) (n : nat) (B : 'M[R]_n),
  difference_rows B -> \det B \in [:: 0; 1; -1].

(** ** With delayed results the program is one of the same kind *)

Check ordersP : forall (R : realFieldType) (I : instance R) (reaches : nat -> nat -> bool) (waits : pred nat),
  routed I reaches -> forall (kept : pred nat) (i h : nat), pruning I kept -> h \in nodes (trees I) ->
  orders I reaches waits kept i h <-> kept h /\ reaches (decided_at I waits h) i.

Check acquired_in_rounds : forall (R : realFieldType) (I : instance R) (tests reaches : nat -> nat -> bool)
  (waits : pred nat), routed I reaches -> forall (kept : pred nat) (k i : nat), pruning I kept ->
  reflect (exists2 h : nat, orders I reaches waits kept i h & tests h k)
          (acquired (in_rounds I tests reaches waits) kept k i).

Check delayed_integrality : forall (R : realFieldType) (I : instance R) (tests reaches : nat -> nat -> bool)
  (waits : pred nat), routed I reaches -> forall (lambda : R) (s : point R), 0 <= lambda ->
  feasible (in_rounds I tests reaches waits) s -> exists2 kept : pred nat, pruning I kept &
    objective (in_rounds I tests reaches waits) lambda (point_of (in_rounds I tests reaches waits) kept)
    <= objective (in_rounds I tests reaches waits) lambda s.

Check delayed_matrix_totally_unimodular : forall (R : realFieldType) (I : instance R)
  (tests reaches : nat -> nat -> bool) (waits : pred nat), routed I reaches ->
  totally_unimodular (constraint_matrix (in_rounds I tests reaches waits)).

(** ** A flow proves a pruning optimal *)

Check weak_duality : forall (R : realFieldType) (I : instance R) (p q : R), well_formed I -> visits_divide I ->
  forall (f : flow R) (s : point R), valid_flow I p q f -> feasible I s ->
  constant I q + flow_value I f <= weighted I q p s.

Check weighted_cut : forall (R : realFieldType) (I : instance R) (p q : R), well_formed I -> visits_divide I ->
  forall kept : pred nat, pruning I kept -> weighted I q p (point_of I kept) = constant I q + cut_capacity I p q kept.

Check certificate_optimal : forall (R : realFieldType) (I : instance R) (p q : R), well_formed I -> visits_divide I ->
  forall (lambda : R) (f : flow R) (kept : pred nat), 0 < q ->
  q * (lambda * (examples I)%:R^-1) = p * (error_examples I * size (trees I))%:R^-1 ->
  valid_flow I p q f -> pruning I kept -> flow_value I f = cut_capacity I p q kept ->
  forall s : point R, feasible I s -> objective I lambda (point_of I kept) <= objective I lambda s.

(** ** and every optimal pruning has such a flow *)

Check maximum_flow : forall (R : realFieldType) (V : finType) (source sink : V) (m : R) (c : V * V -> R),
  nonneg c -> source != sink -> large_cuts source sink m c ->
  exists f : V * V -> R, [/\ forall e : V * V, 0 <= f e <= c e,
    forall v : V, v != source -> v != sink -> into f v = out_of f v
    & m <= \sum_(v | v != source) f (source, v)].

Check strong_duality : forall (R : realFieldType) (I : instance R), well_formed I -> visits_divide I ->
  forall p q : R, 0 <= p -> 0 <= q -> (forall h : nat, h \in internal_nodes (trees I) -> 0 <= split_price I * visits I h) ->
  forall kept : pred nat, pruning I kept ->
  (forall kept' : pred nat, pruning I kept' -> weighted I q p (point_of I kept) <= weighted I q p (point_of I kept')) ->
  exists2 f : flow R, valid_flow I p q f & flow_value I f = cut_capacity I p q kept.

Check certificate_exists : forall (R : realFieldType) (I : instance R), well_formed I -> visits_divide I ->
  forall p q : R, 0 <= p -> 0 <= q -> (forall h : nat, h \in internal_nodes (trees I) -> 0 <= split_price I * visits I h) ->
  forall (lambda : R) (kept : pred nat), 0 < q -> (0 < error_examples I * size (trees I))%N ->
  q * (lambda * (examples I)%:R^-1) = p * (error_examples I * size (trees I))%:R^-1 -> pruning I kept ->
  (forall kept' : pred nat, pruning I kept' -> objective I lambda (point_of I kept) <= objective I lambda (point_of I kept')) ->
  exists2 f : flow R, valid_flow I p q f & flow_value I f = cut_capacity I p q kept.

Check figure1_flow_valid : forall R : realFieldType, valid_flow (figure1_data R) 1 1 (figure1_flow R).

Check figure1_flow_proves : forall R : realFieldType,
  flow_value (figure1_data R) (figure1_flow R) = cut_capacity (figure1_data R) 1 1 (mem [:: 1; 3; 6; 7; 10]%N).

(** ** A budget (Corollary 4.3): exact on the path, and only there *)

Check exact_on_the_path : forall (R : realFieldType) (I : instance R) (slope : R) (s : point R), 0 <= slope ->
  feasible I s -> optimal_at I slope s -> solves_budget I (costs I s) s.

Check exact_only_on_the_path : forall (R : realFieldType) (I : instance R), well_formed I ->
  forall (budget : R) (kept : pred nat), pruning I kept -> solves_budget I budget (point_of I kept) ->
  exists2 slope : R, 0 <= slope & optimal_at I slope (point_of I kept).

(** ** The checker's forests and this program are one model *)

Check correspondence.same_errors : forall (R : realFieldType) (I : instance R), well_formed I ->
  forall (listed : seq (nat * nat)) (numbered : nat * nat -> BinNums.positive) (G : checker.forest),
  correspondence.describes I listed numbered (trees I) G -> forall kept : pred nat, pruning I kept ->
  correspondence.number R (checker.error G (correspondence.forest_pruning kept (trees I))) = errors I (point_of I kept).

Check correspondence.same_costs : forall (R : realFieldType) (I : instance R), well_formed I -> visits_divide I ->
  forall (listed : seq (nat * nat)) (numbered : nat * nat -> BinNums.positive)
    (prices : seq (BinNums.positive * BinNums.Z)),
  correspondence.lists_acquisitions I listed numbered prices -> forall G : checker.forest,
  correspondence.describes I listed numbered (trees I) G -> forall kept : pred nat, pruning I kept ->
  correspondence.number R (checker.cost prices G (correspondence.forest_pruning kept (trees I)))
  = costs I (point_of I kept).

Check correspondence.optimal_for_the_program : forall (R : realFieldType) (I : instance R), well_formed I ->
  visits_divide I -> forall (listed : seq (nat * nat)) (numbered : nat * nat -> BinNums.positive)
    (prices : seq (BinNums.positive * BinNums.Z)),
  correspondence.lists_acquisitions I listed numbered prices -> forall G : checker.forest,
  correspondence.describes I listed numbered (trees I) G ->
  forall (p q : BinNums.Z) (kept : pred nat), BinInt.Z.le BinNums.Z0 p -> pruning I kept ->
  checker.optimal p q prices G (correspondence.forest_pruning kept (trees I)) ->
  forall s : point R, feasible I s ->
  weighted I (correspondence.number R q) (correspondence.number R p) (point_of I kept)
  <= weighted I (correspondence.number R q) (correspondence.number R p) s.

Check correspondence.checked_for_the_program : forall (R : realFieldType) (I : instance R), well_formed I ->
  visits_divide I -> forall (listed : seq (nat * nat)) (numbered : nat * nat -> BinNums.positive)
    (prices : seq (BinNums.positive * BinNums.Z)),
  correspondence.lists_acquisitions I listed numbered prices -> forall G : checker.forest,
  correspondence.describes I listed numbered (trees I) G ->
  forall p q : BinNums.Z, checker.check_pruning p q prices G = true ->
  exists2 kept : pred nat, pruning I kept & correspondence.forest_pruning kept (trees I) = checker.kept_part G
    /\ forall s : point R, feasible I s ->
       weighted I (correspondence.number R q) (correspondence.number R p) (point_of I kept)
       <= weighted I (correspondence.number R q) (correspondence.number R p) s.
