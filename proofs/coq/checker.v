(** * A checker of certificates, and why to believe it

    The functions [check_pruning] and [check_path] take a forest with integers at its nodes and answer true or false.
    The theorems [check_pruning_optimal] and [check_path_optimal] say what "true" means: no pruning of the forest is
    better.  The functions are extracted to OCaml (extraction.v) and run on the certificates that ipforest writes.

    Only Coq's standard library is used.  What a reader has to trust is the first page: the forest, its prunings,
    their errors and costs. *)

From Coq Require Import ZArith List Bool Lia FMapPositive.
Import ListNotations.
Open Scope Z_scope.

(** ** Forests and prunings *)

Record node := Node {
  errors : Z;                      (* wrong examples if this node is a leaf of the pruned forest *)
  split_cost : Z;                  (* what its split costs if it is not *)
  uses : list (positive * Z);      (* the acquisitions that it needs then, and the flow to each of them *)
  kept : bool;                     (* what the certificate of one pruning keeps *)
  piece : Z;                       (* where the certificate of a path drops it: see below *)
  gain_arc : Z;                    (* flow: from the source if the node gains, to the sink if it loses *)
  split_arc : Z;                   (* flow: to the sink, for its split *)
  up : Z                           (* flow: to its parent *)
}.

(** A list of trees: the first one's root, what is below it, and the trees beside it.  A leaf has nothing below. *)
Inductive forest := Nil | Tree (n : node) (below beside : forest).

(** At each root: cut there, or keep its split and go on below. *)
Inductive pruning := Done | Cut (beside : pruning) | Keep (below beside : pruning).

Fixpoint prunes (F : forest) (P : pruning) : Prop :=
  match F, P with
  | Nil, Done => True
  | Tree _ _ beside, Cut P' => prunes beside P'
  | Tree _ below beside, Keep Q P' => below <> Nil /\ prunes below Q /\ prunes beside P'
  | _, _ => False
  end.

(** The errors of the leaves of the pruned forest. *)
Fixpoint error (F : forest) (P : pruning) : Z :=
  match F, P with
  | Tree n _ beside, Cut P' => errors n + error beside P'
  | Tree _ below beside, Keep Q P' => error below Q + error beside P'
  | _, _ => 0
  end.

Fixpoint root_errors (F : forest) : Z :=
  match F with Nil => 0 | Tree n _ beside => errors n + root_errors beside end.

(** The nodes that keep their splits, each with what its children err together. *)
Fixpoint kept_nodes (F : forest) (P : pruning) : list (node * Z) :=
  match F, P with
  | Tree _ _ beside, Cut P' => kept_nodes beside P'
  | Tree n below beside, Keep Q P' => (n, root_errors below) :: kept_nodes below Q ++ kept_nodes beside P'
  | _, _ => []
  end.

Definition sum {A} (f : A -> Z) (l : list A) : Z := fold_right (fun x s => f x + s) 0 l.

Definition uses_of (l : list (node * Z)) : list (positive * Z) := flat_map (fun x => uses (fst x)) l.
Definition mentions (j : positive) (l : list (positive * Z)) : bool := existsb (fun u => Pos.eqb j (fst u)) l.

(** Every acquisition is paid once, however many nodes use it; every kept split is paid. *)
Definition cost (prices : list (positive * Z)) (F : forest) (P : pruning) : Z :=
  sum (fun a => if mentions (fst a) (uses_of (kept_nodes F P)) then snd a else 0) prices
  + sum (fun x => split_cost (fst x)) (kept_nodes F P).

(** With lambda = p / q in the units of errors and costs, this is q times the objective. *)
Definition objective (p q : Z) prices F P : Z := q * error F P + p * cost prices F P.

Definition optimal p q prices F P : Prop :=
  prunes F P /\ forall P', prunes F P' -> objective p q prices F P <= objective p q prices F P'.

(** ** The checker of one pruning *)

Fixpoint up_total (F : forest) : Z := match F with Nil => 0 | Tree n _ beside => up n + up_total beside end.
Definition sent (n : node) : Z := sum snd (uses n).
Definition from_source (n : node) (gain : Z) : Z := if 0 <? gain then gain_arc n else 0.
Definition to_sink (n : node) (gain : Z) : Z := if gain <? 0 then gain_arc n else 0.

(** Nothing is negative, and what goes into a node comes out. *)
Definition is_flow (n : node) (gain from_below : Z) : bool :=
  (0 <=? errors n) && (0 <=? split_cost n) && (0 <=? gain_arc n) && (0 <=? split_arc n) && (0 <=? up n)
  && forallb (fun u => 0 <=? snd u) (uses n)
  && (from_source n gain + from_below =? up n + sent n + split_arc n + to_sink n gain).

Definition is_bare_leaf (n : node) : bool :=
  (0 <=? errors n) && (up n =? 0) && negb (kept n) && match uses n with [] => true | _ => false end.

Fixpoint flow_fits (p q : Z) (F : forest) : bool :=
  match F with
  | Nil => true
  | Tree n Nil beside => is_bare_leaf n && flow_fits p q beside
  | Tree n below beside =>
    let gain := errors n - root_errors below in
    is_flow n gain (up_total below) && (gain_arc n <=? q * Z.abs gain) && (split_arc n <=? p * split_cost n)
    && flow_fits p q below && flow_fits p q beside
  end.

Fixpoint all_nodes (F : forest) : list (node * Z) :=
  match F with
  | Nil => []
  | Tree n Nil beside => all_nodes beside
  | Tree n below beside => (n, root_errors below) :: all_nodes below ++ all_nodes beside
  end.

Fixpoint kept_part (F : forest) : pruning :=
  match F with
  | Nil => Done
  | Tree n below beside => if kept n then Keep (kept_part below) (kept_part beside) else Cut (kept_part beside)
  end.

Fixpoint nothing_kept (F : forest) : bool :=
  match F with Nil => true | Tree n below beside => negb (kept n) && nothing_kept below && nothing_kept beside end.

Fixpoint kept_is_closed (F : forest) : bool :=
  match F with
  | Nil => true
  | Tree n below beside => (if kept n then kept_is_closed below else nothing_kept below) && kept_is_closed beside
  end.

Definition get (m : PositiveMap.t Z) (default : Z) (j : positive) : Z :=
  match PositiveMap.find j m with Some s => s | None => default end.

Definition inflow (l : list (positive * Z)) : PositiveMap.t Z :=
  fold_right (fun u m => PositiveMap.add (fst u) (snd u + get m 0 (fst u)) m) (PositiveMap.empty Z) l.

Fixpoint increasing (from : Z) (prices : list (positive * Z)) : bool :=
  match prices with [] => true | (j, c) :: rest => (from <? Zpos j) && (0 <=? c) && increasing (Zpos j) rest end.

Definition known_uses (prices l : list (positive * Z)) : bool :=
  let m := fold_right (fun a m => PositiveMap.add (fst a) (snd a) m) (PositiveMap.empty Z) prices in
  forallb (fun u => PositiveMap.mem (fst u) m) l.

(** The cost again, with the acquisitions used in a map. *)
Definition quick_cost prices F P : Z :=
  let m := inflow (uses_of (kept_nodes F P)) in
  sum (fun a => if PositiveMap.mem (fst a) m then snd a else 0) prices
  + sum (fun x => split_cost (fst x)) (kept_nodes F P).

(** What the source could send to the nodes that gain, and does not. *)
Definition unsent (q : Z) (x : node * Z) : Z :=
  let gain := errors (fst x) - snd x in if 0 <? gain then q * gain - gain_arc (fst x) else 0.

Definition check_pruning (p q : Z) (prices : list (positive * Z)) (F : forest) : bool :=
  (0 <=? p) && (0 <? q) && increasing 0 prices && known_uses prices (uses_of (all_nodes F))
  && flow_fits p q F && (up_total F =? 0) && kept_is_closed F
  && (let m := inflow (uses_of (all_nodes F)) in forallb (fun a => get m 0 (fst a) <=? p * snd a) prices)
  && (q * error F (kept_part F) + p * quick_cost prices F (kept_part F)
      =? q * root_errors F - sum (unsent q) (all_nodes F)).

(** ** Sums *)

Lemma sum_app A (f : A -> Z) l l' : sum f (l ++ l') = sum f l + sum f l'.
Proof. induction l as [|x l IH]; [reflexivity|]. cbn. fold (sum f l) (sum f (l ++ l')). rewrite IH. ring. Qed.

Lemma sum_cons A (f : A -> Z) x l : sum f (x :: l) = f x + sum f l.
Proof. reflexivity. Qed.

Lemma sum_plus A (f g : A -> Z) l : sum (fun x => f x + g x) l = sum f l + sum g l.
Proof. induction l as [|x l IH]; [reflexivity|]. rewrite !sum_cons, IH. ring. Qed.

Lemma sum_le A (f g : A -> Z) l : (forall x, In x l -> f x <= g x) -> sum f l <= sum g l.
Proof.
  induction l as [|x l IH]; intros le; [apply Z.le_refl|]. rewrite !sum_cons.
  apply Z.add_le_mono; [apply le; left; reflexivity | apply IH; intros; apply le; right; assumption].
Qed.

Lemma sum_eq A (f g : A -> Z) l : (forall x, In x l -> f x = g x) -> sum f l = sum g l.
Proof. intros eq. apply Z.le_antisymm; apply sum_le; intros x x_l; rewrite (eq x x_l); apply Z.le_refl. Qed.

Lemma sum_zero A (f : A -> Z) l : (forall x, In x l -> f x = 0) -> sum f l = 0.
Proof. intros zero. rewrite (sum_eq _ f (fun _ => 0) l zero). induction l; [reflexivity|]. rewrite sum_cons, IHl; [reflexivity|]. intros; apply zero; right; assumption. Qed.

Lemma sum_nonneg A (f : A -> Z) l : (forall x, In x l -> 0 <= f x) -> 0 <= sum f l.
Proof. intros nonneg. rewrite <- (sum_zero A (fun _ => 0) l) at 1 by reflexivity. apply sum_le, nonneg. Qed.

Lemma sum_scale A c (f : A -> Z) l : sum (fun x => c * f x) l = c * sum f l.
Proof. induction l as [|x l IH]; [cbn; ring|]. rewrite !sum_cons, IH. ring. Qed.

Lemma sum_flat_map A B (h : A -> list B) (f : B -> Z) l : sum f (flat_map h l) = sum (fun x => sum f (h x)) l.
Proof. induction l as [|x l IH]; [reflexivity|]. cbn [flat_map]. rewrite sum_app, sum_cons, IH. reflexivity. Qed.

(** Sorting by a key changes no sum. *)
Lemma sum_by_key A (key : A -> Z) (f : A -> Z) (keys : list Z) l :
  NoDup keys -> (forall x, In x l -> In (key x) keys) ->
  sum (fun k => sum (fun x => if key x =? k then f x else 0) l) keys = sum f l.
Proof.
  intros distinct; induction l as [|x l IH]; intros known.
  { apply sum_zero. reflexivity. }
  transitivity (sum (fun k => (if key x =? k then f x else 0) + sum (fun y => if key y =? k then f y else 0) l) keys).
  { apply sum_eq. intros. rewrite sum_cons. reflexivity. }
  rewrite sum_plus, IH by (intros; apply known; right; assumption). rewrite sum_cons. f_equal.
  specialize (known x (or_introl eq_refl)). clear IH l.
  induction distinct as [|k keys fresh distinct IH]; [contradiction|]. rewrite sum_cons.
  destruct known as [->|known].
  - rewrite Z.eqb_refl. rewrite sum_zero; [ring|].
    intros k' k'_in. destruct (Z.eqb_spec (key x) k') as [same|]; [rewrite same in fresh; contradiction|reflexivity].
  - rewrite (IH known). destruct (Z.eqb_spec (key x) k) as [<-|]; [contradiction|ring].
Qed.

(** ** Maps *)

Definition sum_for (j : positive) (l : list (positive * Z)) : Z :=
  sum (fun u => if Zpos (fst u) =? Zpos j then snd u else 0) l.

Lemma get_inflow j l : get (inflow l) 0 j = sum_for j l.
Proof.
  induction l as [|[i s] l IH]; unfold get in *; cbn [inflow fold_right fst snd].
  { rewrite PositiveMap.gempty. reflexivity. }
  unfold sum_for. rewrite sum_cons. cbn [fst snd]. fold (sum_for j l). rewrite <- IH.
  destruct (Z.eqb_spec (Zpos i) (Zpos j)) as [[= ->]|differs].
  - rewrite PositiveMap.gss. reflexivity.
  - rewrite PositiveMap.gso by (intros same; apply differs; f_equal; symmetry; exact same). reflexivity.
Qed.

Lemma mem_inflow j l : PositiveMap.mem j (inflow l) = mentions j l.
Proof.
  induction l as [|[i s] l IH]; cbn [inflow fold_right mentions existsb fst snd].
  { rewrite PositiveMap.mem_find, PositiveMap.gempty. reflexivity. }
  rewrite PositiveMap.mem_find. destruct (Pos.eqb_spec j i) as [->|differs].
  - rewrite PositiveMap.gss. reflexivity.
  - rewrite PositiveMap.gso by exact differs. rewrite <- PositiveMap.mem_find. exact IH.
Qed.

Lemma quick_cost_correct prices F P : quick_cost prices F P = cost prices F P.
Proof. unfold quick_cost, cost. f_equal. apply sum_eq. intros a _. rewrite mem_inflow. reflexivity. Qed.

Lemma increasing_from from prices : increasing from prices = true ->
  NoDup (map (fun a => Zpos (fst a)) prices) /\ forall a, In a prices -> from < Zpos (fst a) /\ 0 <= snd a.
Proof.
  revert from; induction prices as [|[j c] rest IH]; intros from; cbn [increasing map fst].
  { intros _. split; [constructor | intros a []]. }
  rewrite !andb_true_iff, Z.ltb_lt, Z.leb_le. intros [[above nonneg] more].
  destruct (IH _ more) as [distinct larger]. split.
  - constructor; [|exact distinct]. rewrite in_map_iff. intros [a [same a_in]]. apply larger in a_in. lia.
  - intros a [<-|a_in]; [cbn; lia|]. apply larger in a_in. lia.
Qed.

Lemma known_uses_in prices l : known_uses prices l = true ->
  forall u, In u l -> In (Zpos (fst u)) (map (fun a => Zpos (fst a)) prices).
Proof.
  unfold known_uses. rewrite forallb_forall. intros known u u_l. specialize (known u u_l). revert known. clear.
  induction prices as [|a prices IH]; cbn [fold_right map].
  { rewrite PositiveMap.mem_find, PositiveMap.gempty. discriminate. }
  rewrite PositiveMap.mem_find. destruct (Pos.eq_dec (fst u) (fst a)) as [->|differs]; [left; reflexivity|].
  rewrite PositiveMap.gso by exact differs. rewrite <- PositiveMap.mem_find. right. apply IH. assumption.
Qed.

Lemma sum_for_absent j l : mentions j l = false -> sum_for j l = 0.
Proof.
  unfold mentions. intros absent. apply sum_zero. intros u u_l.
  destruct (Z.eqb_spec (Zpos (fst u)) (Zpos j)) as [[= same]|]; [|reflexivity].
  rewrite <- not_true_iff_false, existsb_exists in absent. exfalso. apply absent. exists u.
  split; [assumption|]. apply Pos.eqb_eq. congruence.
Qed.

(** ** Prunings and gains *)

Definition gain_of (x : node * Z) : Z := errors (fst x) - snd x.

Lemma error_gains F : forall P, prunes F P -> error F P = root_errors F - sum gain_of (kept_nodes F P).
Proof.
  induction F as [|n below IHb beside IHs]; intros [|P'|Q P'] fits; cbn [prunes error kept_nodes root_errors] in *;
    try contradiction; try reflexivity.
  - rewrite (IHs _ fits). ring.
  - destruct fits as [_ [fits_b fits_s]]. rewrite (IHb _ fits_b), (IHs _ fits_s), sum_cons, sum_app.
    unfold gain_of at 3. cbn [fst snd]. ring.
Qed.

(** Kept nodes are nodes. *)
Lemma kept_sum_le (f : node * Z -> Z) F : (forall x, In x (all_nodes F) -> 0 <= f x) ->
  forall P, prunes F P -> sum f (kept_nodes F P) <= sum f (all_nodes F).
Proof.
  induction F as [|n below IHb beside IHs]; intros nonneg [|P'|Q P'] fits; cbn [prunes kept_nodes all_nodes] in *;
    try contradiction; try apply Z.le_refl.
  - destruct below as [|n' b b'] eqn:is_below; [apply IHs; assumption|]. rewrite <- is_below in *.
    rewrite sum_cons, sum_app.
    assert (0 <= f (n, root_errors below)) by (apply nonneg; left; reflexivity).
    assert (0 <= sum f (all_nodes below)).
    { apply sum_nonneg. intros x x_in. apply nonneg. right. apply in_or_app. left. assumption. }
    assert (sum f (kept_nodes beside P') <= sum f (all_nodes beside)).
    { apply IHs; [|assumption]. intros x x_in. apply nonneg. right. apply in_or_app. right. assumption. }
    lia.
  - destruct fits as [inner [fits_b fits_s]]. destruct below as [|n' b b'] eqn:is_below; [contradiction|].
    rewrite <- is_below in *. rewrite !sum_cons, !sum_app.
    assert (sum f (kept_nodes below Q) <= sum f (all_nodes below)).
    { apply IHb; [|assumption]. intros x x_in. apply nonneg. right. apply in_or_app. left. assumption. }
    assert (sum f (kept_nodes beside P') <= sum f (all_nodes beside)).
    { apply IHs; [|assumption]. intros x x_in. apply nonneg. right. apply in_or_app. right. assumption. }
    lia.
Qed.

Lemma kept_part_prunes p q F : flow_fits p q F = true -> prunes F (kept_part F).
Proof.
  induction F as [|n below IHb beside IHs]; cbn [flow_fits kept_part prunes]; [trivial|].
  destruct below as [|n' b b'] eqn:is_below.
  - rewrite !andb_true_iff. unfold is_bare_leaf. rewrite !andb_true_iff, negb_true_iff.
    intros [[[_ unkept] _] more]. rewrite unkept. apply IHs, more.
  - rewrite <- is_below in *. rewrite !andb_true_iff. intros [[_ fits_b] fits_s].
    destruct (kept n); [|apply IHs, fits_s].
    repeat split; [rewrite is_below; discriminate | apply IHb, fits_b | apply IHs, fits_s].
Qed.

Lemma is_flow_facts n gain from_below : is_flow n gain from_below = true ->
  0 <= errors n /\ 0 <= split_cost n /\ 0 <= gain_arc n /\ 0 <= split_arc n /\ 0 <= up n
  /\ (forall u, In u (uses n) -> 0 <= snd u)
  /\ from_source n gain + from_below = up n + sent n + split_arc n + to_sink n gain.
Proof.
  unfold is_flow. rewrite !andb_true_iff, !Z.leb_le, Z.eqb_eq, forallb_forall.
  intros [[[[[[? ?] ?] ?] ?] nonneg] ?]. repeat split; try assumption.
  intros u u_n. apply Z.leb_le, nonneg, u_n.
Qed.

Lemma unsent_nonneg q n gain arc_gain : arc_gain <= q * Z.abs gain -> 0 <= arc_gain ->
  gain_arc n = arc_gain -> 0 <= (if 0 <? gain then q * gain - gain_arc n else 0).
Proof. intros small _ ->. destruct (Z.ltb_spec 0 gain); [|apply Z.le_refl]. rewrite Z.abs_eq in small by lia. lia. Qed.

(** What holds at every internal node of a flow that fits. *)
Lemma flow_fits_nodes p q F : flow_fits p q F = true -> forall x, In x (all_nodes F) ->
  0 <= unsent q x /\ 0 <= split_cost (fst x) /\ (forall u, In u (uses (fst x)) -> 0 <= snd u).
Proof.
  induction F as [|n below IHb beside IHs]; cbn [flow_fits all_nodes]; intros fits x; [intros []|].
  destruct below as [|n' b b'] eqn:is_below.
  - rewrite andb_true_iff in fits. apply IHs, fits.
  - rewrite <- is_below in *. rewrite !andb_true_iff, !Z.leb_le in fits.
    destruct fits as [[[[flows small] _] fits_b] fits_s].
    apply is_flow_facts in flows. destruct flows as [_ [split_nonneg [arc_nonneg [_ [_ [uses_nonneg _]]]]]].
    intros [<-|x_in].
    + cbn [fst snd]. repeat split; try assumption. unfold unsent. cbn [fst snd]. eapply unsent_nonneg; eauto.
    + apply in_app_or in x_in. destruct x_in as [x_in|x_in]; [apply (IHb fits_b x x_in) | apply (IHs fits_s x x_in)].
Qed.

Lemma up_nonneg p q F : flow_fits p q F = true -> 0 <= up_total F.
Proof.
  induction F as [|n below _ beside IHs]; cbn [flow_fits up_total]; intros fits; [lia|].
  assert (0 <= up n /\ flow_fits p q beside = true) as [up_n fits_s]; [|specialize (IHs fits_s); lia].
  destruct below.
  - rewrite andb_true_iff in fits. destruct fits as [leaf fits_s]. split; [|assumption].
    unfold is_bare_leaf in leaf. rewrite !andb_true_iff, Z.eqb_eq in leaf. lia.
  - rewrite !andb_true_iff in fits. destruct fits as [[[[flows _] _] _] fits_s]. split; [|assumption].
    apply is_flow_facts in flows. tauto.
Qed.

(** ** Weak duality: what the flow proves of every pruning *)

Lemma weak_duality p q F : flow_fits p q F = true -> forall P, prunes F P ->
  q * root_errors F - sum (unsent q) (all_nodes F)
  <= q * error F P + p * sum (fun x => split_cost (fst x)) (kept_nodes F P)
     + sum snd (uses_of (kept_nodes F P)) + up_total F.
Proof.
  unfold uses_of.
  induction F as [|n below IHb beside IHs]; intros fits [|P'|Q P'] prunes_F; try contradiction; try (cbn; lia).
  - cbn [prunes error kept_nodes root_errors up_total] in *.
    assert (nodes_nonneg : forall x, In x (all_nodes (Tree n below beside)) -> 0 <= unsent q x)
      by (intros; eapply flow_fits_nodes; eauto).
    assert (up_all := up_nonneg _ _ _ fits). cbn [flow_fits all_nodes up_total] in *.
    destruct below as [|n' b b'] eqn:is_below.
    + rewrite andb_true_iff in fits. destruct fits as [leaf fits_s]. specialize (IHs fits_s _ prunes_F).
      unfold is_bare_leaf in leaf. rewrite !andb_true_iff, Z.eqb_eq in leaf. lia.
    + rewrite <- is_below in *. rewrite !andb_true_iff in fits. destruct fits as [[[[flows _] _] fits_b] fits_s].
      specialize (IHs fits_s _ prunes_F). apply is_flow_facts in flows. rewrite sum_cons, sum_app.
      assert (0 <= unsent q (n, root_errors below)) by (apply nodes_nonneg; left; reflexivity).
      assert (0 <= sum (unsent q) (all_nodes below)).
      { apply sum_nonneg. intros x x_in. apply nodes_nonneg. right. apply in_or_app. left. assumption. }
      lia.
  - cbn [prunes error kept_nodes root_errors up_total flow_fits all_nodes flat_map] in *.
    destruct prunes_F as [inner [prunes_b prunes_s]]. destruct below as [|n' b b'] eqn:is_below; [contradiction|].
    rewrite <- is_below in *. rewrite !andb_true_iff, !Z.leb_le in fits.
    destruct fits as [[[[flows small] split_small] fits_b] fits_s].
    specialize (IHb fits_b _ prunes_b). specialize (IHs fits_s _ prunes_s). apply is_flow_facts in flows.
    destruct flows as [_ [_ [_ [_ [_ [_ conserved]]]]]].
    rewrite !flat_map_app, !sum_app, !sum_cons, !sum_app. cbn [fst snd]. fold (sent n).
    unfold unsent at 1. cbn [fst snd]. set (gain := errors n - root_errors below) in *.
    assert (q * errors n = q * root_errors below + q * gain) by (unfold gain; ring).
    unfold from_source, to_sink in conserved.
    destruct (Z.ltb_spec 0 gain); destruct (Z.ltb_spec gain 0); try lia.
    assert (q * Z.abs gain = - (q * gain)) by (rewrite Z.abs_neq by lia; ring). lia.
Qed.

Lemma uses_app l l' : uses_of (l ++ l') = uses_of l ++ uses_of l'.
Proof. apply flat_map_app. Qed.

(** What the flow sends to acquisitions, they cost. *)
Lemma sent_le_cost p prices F P :
  increasing 0 prices = true -> known_uses prices (uses_of (all_nodes F)) = true ->
  (forall x, In x (all_nodes F) -> forall u, In u (uses (fst x)) -> 0 <= snd u) ->
  (forall a, In a prices -> sum_for (fst a) (uses_of (all_nodes F)) <= p * snd a) -> prunes F P ->
  sum snd (uses_of (kept_nodes F P))
  <= p * sum (fun a => if mentions (fst a) (uses_of (kept_nodes F P)) then snd a else 0) prices.
Proof.
  intros sorted known nonneg capacity fits. apply increasing_from in sorted. destruct sorted as [distinct _].
  assert (kept_known : forall u, In u (uses_of (kept_nodes F P)) -> In u (uses_of (all_nodes F))).
  { clear -fits. revert P fits. induction F as [|n below IHb beside IHs]; intros [|P'|Q P'] fits u u_in;
      cbn [prunes kept_nodes all_nodes] in *; try contradiction.
    - destruct below; [apply (IHs _ fits), u_in|]. cbn [uses_of flat_map]. rewrite flat_map_app.
      apply in_or_app. right. apply in_or_app. right. apply (IHs _ fits), u_in.
    - destruct fits as [inner [fits_b fits_s]]. destruct below as [|n' b b'] eqn:is_below; [contradiction|].
      rewrite <- is_below in *. cbn [uses_of flat_map] in *. rewrite flat_map_app in *.
      rewrite !in_app_iff in *. destruct u_in as [u_in|[u_in|u_in]]; [left; assumption | right; left | right; right].
      + apply (IHb _ fits_b), u_in.
      + apply (IHs _ fits_s), u_in. }
  rewrite <- (sum_by_key _ (fun u => Zpos (fst u)) snd (map (fun a => Zpos (fst a)) prices)); [|assumption|].
  2: { intros u u_in. eapply known_uses_in; eauto. }
  rewrite <- sum_scale.
  assert (through_map : forall (h : Z -> Z) l, sum h (map (fun a : positive * Z => Zpos (fst a)) l)
      = sum (fun a => h (Zpos (fst a))) l).
  { intros h l. induction l as [|a l IH]; [reflexivity|]. cbn [map]. rewrite !sum_cons, IH. reflexivity. }
  rewrite through_map. apply sum_le. intros a a_in. fold (sum_for (fst a) (uses_of (kept_nodes F P))).
  destruct (mentions (fst a) (uses_of (kept_nodes F P))) eqn:is_used.
  - apply Z.le_trans with (2 := capacity a a_in). unfold sum_for, uses_of. rewrite !sum_flat_map.
    apply kept_sum_le; [|assumption]. intros x x_in. apply sum_nonneg. intros u u_in.
    destruct (Zpos (fst u) =? Zpos (fst a)); [apply (nonneg x x_in u u_in) | apply Z.le_refl].
  - rewrite sum_for_absent by assumption. lia.
Qed.

(** ** The theorem for one pruning *)

Theorem check_pruning_optimal p q prices F :
  check_pruning p q prices F = true -> optimal p q prices F (kept_part F).
Proof.
  unfold check_pruning. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt, !Z.eqb_eq, forallb_forall.
  intros [[[[[[[[p_nonneg q_pos] sorted] known] fits] no_up] closed] capacity] tight].
  assert (nodes := flow_fits_nodes _ _ _ fits). split; [eapply kept_part_prunes; eauto|].
  intros P' prunes_F. unfold objective. rewrite <- (quick_cost_correct _ _ (kept_part F)). rewrite tight.
  eapply Z.le_trans; [apply (weak_duality p q F fits P' prunes_F)|]. rewrite no_up. unfold cost.
  assert (paid := sent_le_cost p prices F P' sorted known). rewrite Z.mul_add_distr_l.
  enough (sum snd (uses_of (kept_nodes F P')) <=
      p * sum (fun a => if mentions (fst a) (uses_of (kept_nodes F P')) then snd a else 0) prices) by lia.
  apply paid; [intros x x_in; apply (nodes x x_in) | | assumption].
  intros a a_in. specialize (capacity a a_in). rewrite Z.leb_le, get_inflow in capacity. exact capacity.
Qed.

(** ** The checker of a path

    The breakpoints are p_b / q_b for b = 0, ..., k - 1.  A node of piece b is kept below the breakpoint b and dropped
    above it; piece -1 is never kept, piece k always.  An acquisition belongs to the largest piece that uses it.  The
    flow stays inside the pieces; in piece b it is counted in units of 1 / q_b and fills every arc into the sink. *)

Fixpoint cut_at (i : Z) (F : forest) : pruning :=
  match F with
  | Nil => Done
  | Tree n Nil beside => Cut (cut_at i beside)
  | Tree n below beside => if i <=? piece n then Keep (cut_at i below) (cut_at i beside) else Cut (cut_at i beside)
  end.

Definition gain_fits (k b q gain arc : Z) : bool :=
  if b <? 0 then (if 0 <? gain then arc =? gain else arc <=? - gain)
  else if b <? k then arc =? q * Z.abs gain
  else if gain <? 0 then arc =? - gain else arc <=? gain.

Fixpoint pieces_fit (k : Z) (scale : Z -> Z * Z) (owner : PositiveMap.t Z) (above : Z) (F : forest) : bool :=
  match F with
  | Nil => true
  | Tree n Nil beside => is_bare_leaf n && pieces_fit k scale owner above beside
  | Tree n below beside =>
    let gain := errors n - root_errors below in
    let b := piece n in
    is_flow n gain (up_total below)
    && (-1 <=? b) && (b <=? k) && (b <=? above) && ((up n =? 0) || (b =? above))
    && gain_fits k b (snd (scale b)) gain (gain_arc n) && (split_arc n =? fst (scale b) * split_cost n)
    && ((b <? k) || (split_cost n =? 0))
    && forallb (fun u => (snd u =? 0) || ((get owner (-1) (fst u) =? b) && (0 <=? b) && (b <? k))) (uses n)
    && pieces_fit k scale owner b below && pieces_fit k scale owner above beside
  end.

Definition uses_by_piece (F : forest) : list (positive * Z) :=
  flat_map (fun x => map (fun u => (fst u, piece (fst x))) (uses (fst x))) (all_nodes F).

Definition owners (l : list (positive * Z)) : PositiveMap.t Z :=
  fold_right (fun u m => PositiveMap.add (fst u) (Z.max (snd u) (get m (-1) (fst u))) m) (PositiveMap.empty Z) l.

Definition scale_of (breakpoints : list (Z * Z)) : Z -> Z * Z :=
  let m := snd (fold_left (fun im pq => (Pos.succ (fst im), PositiveMap.add (fst im) pq (snd im))) breakpoints
                          (1%positive, PositiveMap.empty (Z * Z))) in
  fun b => match (if b <? 0 then None else PositiveMap.find (Z.to_pos (b + 1)) m) with Some pq => pq | None => (0, 1) end.

Fixpoint rising (breakpoints : list (Z * Z)) : bool :=
  match breakpoints with
  | (p, q) :: rest => (0 <? p) && (0 <? q) && rising rest
      && match rest with (p', q') :: _ => p * q' <? p' * q | [] => true end
  | [] => true
  end.

Fixpoint falling (l : list Z) : bool :=
  match l with c :: rest => match rest with c' :: _ => c' <? c | [] => true end && falling rest | [] => true end.

(** The indices of prunings, 0, ..., k, or of pieces, -1, ..., k. *)
Definition numbers (from : Z) (size : nat) : list Z := map (fun i => from + Z.of_nat i) (seq 0 size).

Definition positive_scales (k : Z) (scale : Z -> Z * Z) : bool :=
  forallb (fun b => if (0 <=? b) && (b <? k) then (0 <? fst (scale b)) && (0 <? snd (scale b))
                    else (fst (scale b) =? 0) && (snd (scale b) =? 1)) (numbers (-1) (Z.to_nat (k + 2))).

(** Error and cost of the pruning between the breakpoints i - 1 and i. *)
Definition curve (k : Z) prices (F : forest) : list (Z * Z) :=
  map (fun i => (error F (cut_at i F), quick_cost prices F (cut_at i F))) (numbers 0 (Z.to_nat (k + 1))).

Definition check_path (breakpoints : list (Z * Z)) (prices : list (positive * Z)) (F : forest) : bool :=
  let k := Z.of_nat (length breakpoints) in
  let scale := scale_of breakpoints in
  let owner := owners (uses_by_piece F) in
  rising breakpoints && positive_scales k scale && increasing 0 prices && known_uses prices (uses_of (all_nodes F))
  && pieces_fit k scale owner (k + 1) F && falling (map snd (curve k prices F))
  && (let m := inflow (uses_of (all_nodes F)) in
      forallb (fun a => let b := get owner (-1) (fst a) in
                        (get m 0 (fst a) =? fst (scale b) * snd a) && ((b <? k) || (snd a =? 0))) prices).

(** ** The theorem for a path *)

Definition piece_of (x : node * Z) : Z := piece (fst x).
Definition at_piece (b : Z) (f : node * Z -> Z) (x : node * Z) : Z := if piece_of x =? b then f x else 0.
Definition sent_of (x : node * Z) : Z := sent (fst x).
Definition split_of (x : node * Z) : Z := split_cost (fst x).

Fixpoint up_at (b : Z) (F : forest) : Z :=
  match F with Nil => 0 | Tree n _ beside => (if piece n =? b then up n else 0) + up_at b beside end.

Section Path.

Variables (k : Z) (scale : Z -> Z * Z) (owner : PositiveMap.t Z) (prices : list (positive * Z)).
Hypothesis k_nonneg : 0 <= k.
Hypothesis scales : forall b, -1 <= b <= k ->
  if (0 <=? b) && (b <? k) then 0 < fst (scale b) /\ 0 < snd (scale b) else fst (scale b) = 0 /\ snd (scale b) = 1.

Local Notation fits := (pieces_fit k scale owner).
Local Notation p_ b := (fst (scale b)).
Local Notation q_ b := (snd (scale b)).

(** What holds at an internal node. *)
Record fits_at (above : Z) (n : node) (from_below gain : Z) : Prop := FitsAt {
  a_flow : is_flow n gain from_below = true;
  a_range : -1 <= piece n <= k;
  a_above : piece n <= above;
  a_up : up n = 0 \/ piece n = above;
  a_gain : gain_fits k (piece n) (q_ (piece n)) gain (gain_arc n) = true;
  a_split : split_arc n = p_ (piece n) * split_cost n;
  a_free : piece n < k \/ split_cost n = 0;
  a_uses : forall u, In u (uses n) -> snd u = 0 \/ (get owner (-1) (fst u) = piece n /\ 0 <= piece n < k)
}.

Lemma fits_tree above n below beside : below <> Nil -> fits above (Tree n below beside) = true ->
  fits_at above n (up_total below) (errors n - root_errors below)
  /\ fits (piece n) below = true /\ fits above beside = true.
Proof.
  intros inner. destruct below as [|n' b b'] eqn:is_below; [contradiction|]. rewrite <- is_below in *.
  change (fits above (Tree n below beside)) with
    (match below with Nil => is_bare_leaf n && fits above beside | _ =>
      is_flow n (errors n - root_errors below) (up_total below)
      && (-1 <=? piece n) && (piece n <=? k) && (piece n <=? above) && ((up n =? 0) || (piece n =? above))
      && gain_fits k (piece n) (q_ (piece n)) (errors n - root_errors below) (gain_arc n)
      && (split_arc n =? p_ (piece n) * split_cost n)
      && ((piece n <? k) || (split_cost n =? 0))
      && forallb (fun u => (snd u =? 0) || ((get owner (-1) (fst u) =? piece n) && (0 <=? piece n) && (piece n <? k)))
                 (uses n)
      && fits (piece n) below && fits above beside end).
  rewrite is_below at 1. rewrite !andb_true_iff, !orb_true_iff, !Z.leb_le, Z.ltb_lt, !Z.eqb_eq, forallb_forall.
  intros [[[[[[[[[[? ?] ?] ?] ?] ?] ?] ?] users] ?] ?].
  split; [|split; assumption]. constructor; try assumption; try lia.
  intros u u_n. specialize (users u u_n). rewrite orb_true_iff, !andb_true_iff, Z.leb_le, Z.ltb_lt, !Z.eqb_eq in users.
  tauto.
Qed.

Lemma fits_leaf above n beside : fits above (Tree n Nil beside) = true -> up n = 0 /\ fits above beside = true.
Proof.
  cbn [pieces_fit]. rewrite andb_true_iff. intros [leaf ?]. split; [|assumption].
  unfold is_bare_leaf in leaf. rewrite !andb_true_iff, Z.eqb_eq in leaf. tauto.
Qed.

Lemma up_at_other above b F : fits above F = true -> b <> above -> up_at b F = 0.
Proof.
  intros fits_F differs. induction F as [|n below _ beside IH]; [reflexivity|]. cbn [up_at].
  destruct below as [|n' b' b''] eqn:is_below.
  - apply fits_leaf in fits_F. destruct fits_F as [-> fits_s]. rewrite (IH fits_s). destruct (piece n =? b); reflexivity.
  - apply fits_tree in fits_F; [|discriminate]. destruct fits_F as [here [_ fits_s]]. rewrite (IH fits_s).
    destruct (a_up _ _ _ _ here) as [->|same]; [destruct (piece n =? b); reflexivity|].
    destruct (Z.eqb_spec (piece n) b); [congruence|reflexivity].
Qed.

Lemma up_at_same above F : fits above F = true -> up_at above F = up_total F.
Proof.
  intros fits_F. induction F as [|n below _ beside IH]; [reflexivity|]. cbn [up_at up_total].
  destruct below as [|n' b' b''] eqn:is_below.
  - apply fits_leaf in fits_F. destruct fits_F as [-> fits_s]. rewrite (IH fits_s).
    destruct (piece n =? above); reflexivity.
  - apply fits_tree in fits_F; [|discriminate]. destruct fits_F as [here [_ fits_s]]. rewrite (IH fits_s).
    destruct (Z.eqb_spec (piece n) above) as [|differs]; [reflexivity|].
    destruct (a_up _ _ _ _ here) as [->|]; [reflexivity|contradiction].
Qed.

Lemma up_at_nonneg above b F : fits above F = true -> 0 <= up_at b F.
Proof.
  intros fits_F. induction F as [|n below _ beside IH]; [cbn; lia|]. cbn [up_at].
  destruct below as [|n' b' b''] eqn:is_below.
  - apply fits_leaf in fits_F. destruct fits_F as [-> fits_s]. specialize (IH fits_s). destruct (piece n =? b); lia.
  - apply fits_tree in fits_F; [|discriminate]. destruct fits_F as [here [_ fits_s]]. specialize (IH fits_s).
    assert (flows := is_flow_facts _ _ _ (a_flow _ _ _ _ here)). destruct (piece n =? b); lia.
Qed.

(** The balance of one node: what it gains, it sends up, to acquisitions and for its split, less what comes from below. *)
Lemma balance above n from_below gain : fits_at above n from_below gain ->
  (piece n < k -> q_ (piece n) * gain <= up n + sent n + p_ (piece n) * split_cost n - from_below)
  /\ (0 <= piece n -> up n + sent n + p_ (piece n) * split_cost n - from_below <= q_ (piece n) * gain).
Proof.
  intros here. assert (flows := is_flow_facts _ _ _ (a_flow _ _ _ _ here)).
  assert (range := a_range _ _ _ _ here). assert (full := a_gain _ _ _ _ here).
  rewrite <- (a_split _ _ _ _ here). assert (scaled := scales _ range).
  destruct flows as [_ [_ [_ [_ [_ [_ conserved]]]]]]. revert full scaled conserved.
  unfold gain_fits, from_source, to_sink. generalize (q_ (piece n)) (p_ (piece n)). intros q p.
  destruct (Z.ltb_spec (piece n) 0); destruct (Z.leb_spec 0 (piece n)); try lia; cbn [andb].
  - intros full [-> ->]. destruct (Z.ltb_spec 0 gain); destruct (Z.ltb_spec gain 0);
      rewrite ?Z.eqb_eq, ?Z.leb_le in full; lia.
  - destruct (Z.ltb_spec (piece n) k).
    + rewrite Z.eqb_eq. intros full [p_pos q_pos]. destruct (Z.ltb_spec 0 gain); destruct (Z.ltb_spec gain 0); try lia.
      all: first [rewrite Z.abs_eq in full by lia; lia | rewrite Z.abs_neq in full by lia].
      all: replace (q * gain) with (- (q * - gain)) by ring; lia.
    + intros full [-> ->]. destruct (Z.ltb_spec gain 0); destruct (Z.ltb_spec 0 gain);
        rewrite ?Z.eqb_eq, ?Z.leb_le in full; lia.
Qed.

(** In piece b < k, what a pruning keeps gains at most what it costs, and what goes up. *)
Lemma piece_bound b above F : b < k -> fits above F = true -> forall P, prunes F P ->
  sum (at_piece b (fun x => q_ b * gain_of x)) (kept_nodes F P)
  <= sum (at_piece b (fun x => p_ b * split_of x)) (kept_nodes F P) + sum (at_piece b sent_of) (kept_nodes F P)
     + up_at b F.
Proof.
  intros below_k. revert above. induction F as [|n below IHb beside IHs]; intros above fits_F [|P'|Q P'] prunes_F;
    cbn [prunes kept_nodes up_at] in *; try contradiction; try (cbn; lia).
  - destruct below as [|n' b' b''] eqn:is_below.
    + apply fits_leaf in fits_F. destruct fits_F as [-> fits_s]. specialize (IHs _ fits_s _ prunes_F).
      destruct (piece n =? b); lia.
    + apply fits_tree in fits_F; [|discriminate]. destruct fits_F as [here [_ fits_s]].
      specialize (IHs _ fits_s _ prunes_F). assert (flows := is_flow_facts _ _ _ (a_flow _ _ _ _ here)).
      destruct (piece n =? b); lia.
  - destruct prunes_F as [inner [prunes_b prunes_s]]. apply fits_tree in fits_F; [|assumption].
    destruct fits_F as [here [fits_b fits_s]]. specialize (IHb _ fits_b _ prunes_b). specialize (IHs _ fits_s _ prunes_s).
    assert (balanced := balance _ _ _ _ here).
    rewrite !sum_cons, !sum_app. unfold at_piece at 1 4 7, piece_of, gain_of at 1, split_of at 1, sent_of at 1.
    cbn [fst snd]. destruct (Z.eqb_spec (piece n) b) as [same|differs].
    + rewrite <- same in *. rewrite up_at_same in IHb by assumption. destruct balanced as [balanced _]. lia.
    + rewrite (up_at_other _ _ _ fits_b) in IHb by congruence. lia.
Qed.

(** In piece 0 <= b, all nodes together gain at least what they cost, and what goes up. *)
Lemma piece_total b above F : 0 <= b -> fits above F = true ->
  sum (at_piece b (fun x => p_ b * split_of x)) (all_nodes F) + sum (at_piece b sent_of) (all_nodes F) + up_at b F
  <= sum (at_piece b (fun x => q_ b * gain_of x)) (all_nodes F).
Proof.
  intros b_nonneg. revert above. induction F as [|n below IHb beside IHs]; intros above fits_F; [cbn; lia|].
  cbn [all_nodes up_at]. destruct below as [|n' b' b''] eqn:is_below.
  - apply fits_leaf in fits_F. destruct fits_F as [-> fits_s]. specialize (IHs _ fits_s).
    destruct (piece n =? b); lia.
  - rewrite <- is_below in *. apply fits_tree in fits_F; [|rewrite is_below; discriminate].
    destruct fits_F as [here [fits_b fits_s]]. specialize (IHb _ fits_b). specialize (IHs _ fits_s).
    assert (balanced := balance _ _ _ _ here).
    rewrite !sum_cons, !sum_app. unfold at_piece at 1 4 7, piece_of, gain_of at 1, split_of at 1, sent_of at 1.
    cbn [fst snd]. destruct (Z.eqb_spec (piece n) b) as [same|differs].
    + rewrite <- same in *. rewrite up_at_same in IHb by assumption. destruct balanced as [_ balanced]. lia.
    + rewrite (up_at_other _ _ _ fits_b) in IHb by congruence. lia.
Qed.

(** A property of all nodes. *)
Lemma nodes_fit above F : fits above F = true -> forall x, In x (all_nodes F) ->
  exists above' from_below, fits_at above' (fst x) from_below (gain_of x).
Proof.
  revert above. induction F as [|n below IHb beside IHs]; intros above fits_F x; [intros []|]. cbn [all_nodes].
  destruct below as [|n' b' b''] eqn:is_below.
  - apply fits_leaf in fits_F. destruct fits_F as [_ fits_s]. apply (IHs _ fits_s).
  - rewrite <- is_below in *. apply fits_tree in fits_F; [|rewrite is_below; discriminate].
    destruct fits_F as [here [fits_b fits_s]]. intros [<-|x_in]; [exists above, (up_total below); exact here|].
    apply in_app_or in x_in. destruct x_in as [x_in|x_in]; [apply (IHb _ fits_b x x_in) | apply (IHs _ fits_s x x_in)].
Qed.

Lemma kept_are_nodes F : forall P, prunes F P -> forall x, In x (kept_nodes F P) -> In x (all_nodes F).
Proof.
  induction F as [|n below IHb beside IHs]; intros [|P'|Q P'] prunes_F x x_in;
    cbn [prunes kept_nodes all_nodes] in *; try contradiction.
  - specialize (IHs _ prunes_F _ x_in). destruct below; [exact IHs|]. right. apply in_or_app. right. exact IHs.
  - destruct prunes_F as [inner [prunes_b prunes_s]]. destruct below as [|n' b b'] eqn:is_below; [contradiction|].
    rewrite <- is_below in *. destruct x_in as [<-|x_in]; [left; reflexivity|]. right. apply in_or_app.
    apply in_app_or in x_in. destruct x_in as [x_in|x_in]; [left; apply (IHb _ prunes_b _ x_in) | right; apply (IHs _ prunes_s _ x_in)].
Qed.

(** In piece k, what is kept gains at most what all nodes gain. *)
Lemma last_piece above F : fits above F = true -> forall P, prunes F P ->
  sum (at_piece k gain_of) (kept_nodes F P) <= sum (at_piece k gain_of) (all_nodes F).
Proof.
  assert (all_gain : forall above F, fits above F = true -> 0 <= sum (at_piece k gain_of) (all_nodes F)).
  { intros above' F' fits_F'. assert (total := piece_total k above' F' k_nonneg fits_F').
    assert (scaled : p_ k = 0 /\ q_ k = 1).
    { assert (at_k := scales k ltac:(lia)). destruct (Z.ltb_spec k k); [lia|]. rewrite andb_false_r in at_k. exact at_k. }
    destruct scaled as [p_0 q_1]. rewrite p_0, q_1 in total.
    rewrite (sum_eq _ (at_piece k (fun x => 1 * gain_of x)) (at_piece k gain_of)) in total
      by (intros; unfold at_piece; destruct (piece_of x =? k); ring).
    assert (0 <= sum (at_piece k sent_of) (all_nodes F')).
    { apply sum_nonneg. intros x x_in. unfold at_piece. destruct (piece_of x =? k); [|lia].
      destruct (nodes_fit _ _ fits_F' x x_in) as [a [f here]]. apply sum_nonneg.
      apply (is_flow_facts _ _ _ (a_flow _ _ _ _ here)). }
    assert (sum (at_piece k (fun x => 0 * split_of x)) (all_nodes F') = 0).
    { apply sum_zero. intros. unfold at_piece. destruct (piece_of x =? k); ring. }
    assert (up_at_all := up_at_nonneg above' k F' fits_F'). lia. }
  revert above. induction F as [|n below IHb beside IHs]; intros above fits_F [|P'|Q P'] prunes_F;
    cbn [prunes kept_nodes all_nodes] in *; try contradiction; try lia.
  - destruct below as [|n' b' b''] eqn:is_below.
    + apply fits_leaf in fits_F. destruct fits_F as [_ fits_s]. apply (IHs _ fits_s _ prunes_F).
    + rewrite <- is_below in *. assert (whole := fits_F). apply fits_tree in fits_F; [|rewrite is_below; discriminate].
      destruct fits_F as [here [fits_b fits_s]]. specialize (IHs _ fits_s _ prunes_F).
      assert (alone : fits above (Tree n below Nil) = true).
      { rewrite is_below in *. cbn [pieces_fit] in whole |- *. rewrite !andb_true_iff in whole |- *. tauto. }
      assert (gains := all_gain _ _ alone). cbn [all_nodes] in gains. rewrite is_below in gains at 1.
      rewrite app_nil_r, sum_cons in gains. rewrite sum_cons, sum_app. lia.
  - destruct prunes_F as [inner [prunes_b prunes_s]]. apply fits_tree in fits_F; [|assumption].
    destruct fits_F as [here [fits_b fits_s]]. specialize (IHb _ fits_b _ prunes_b). specialize (IHs _ fits_s _ prunes_s).
    destruct below as [|n' b b'] eqn:is_below; [contradiction|]. rewrite <- is_below in *.
    rewrite !sum_cons, !sum_app. lia.
Qed.

(** ** Acquisitions *)

Local Notation owned a := (get owner (-1) (fst a)).

Hypothesis distinct : NoDup (map (fun a => Zpos (fst a)) prices).
Hypothesis prices_nonneg : forall a, In a prices -> 0 <= snd a.

Lemma sum_map A B (f : A -> B) (h : B -> Z) l : sum h (map f l) = sum (fun a => h (f a)) l.
Proof. induction l as [|a l IH]; [reflexivity|]. cbn [map]. rewrite !sum_cons, IH. reflexivity. Qed.

Lemma sent_by_owner b l :
  (forall x, In x l -> exists above from_below, fits_at above (fst x) from_below (gain_of x)) ->
  (forall u, In u (uses_of l) -> In (Zpos (fst u)) (map (fun a => Zpos (fst a)) prices)) ->
  sum (at_piece b sent_of) l = sum (fun a => if owned a =? b then sum_for (fst a) (uses_of l) else 0) prices.
Proof.
  intros all_fit known.
  transitivity (sum (fun u => if owned u =? b then snd u else 0) (uses_of l)).
  - unfold uses_of. rewrite sum_flat_map. apply sum_eq. intros x x_in.
    destruct (all_fit x x_in) as [above [from_below here]]. unfold at_piece, sent_of, sent, piece_of.
    assert (at_home := a_uses _ _ _ _ here). destruct (Z.eqb_spec (piece (fst x)) b) as [same|differs].
    + apply sum_eq. intros u u_in. destruct (at_home u u_in) as [->|[-> _]].
      * destruct (owned u =? b); reflexivity.
      * rewrite same, Z.eqb_refl. reflexivity.
    + symmetry. apply sum_zero. intros u u_in. destruct (at_home u u_in) as [->|[-> _]].
      * destruct (owned u =? b); reflexivity.
      * destruct (Z.eqb_spec (piece (fst x)) b); [contradiction|reflexivity].
  - rewrite <- (sum_by_key _ (fun u => Zpos (fst u)) _ _ (uses_of l) distinct known), sum_map. apply sum_eq.
    intros a _. unfold sum_for. destruct (Z.eqb_spec (owned a) b) as [same|differs].
    + apply sum_eq. intros u _. destruct (Z.eqb_spec (Zpos (fst u)) (Zpos (fst a))) as [[= ->]|]; [|reflexivity].
      rewrite same, Z.eqb_refl. reflexivity.
    + apply sum_zero. intros u _. destruct (Z.eqb_spec (Zpos (fst u)) (Zpos (fst a))) as [[= ->]|]; [|reflexivity].
      destruct (Z.eqb_spec (owned a) b); [contradiction|reflexivity].
Qed.

Variable F : forest.
Hypothesis F_fits : fits (k + 1) F = true.
Hypothesis known : forall u, In u (uses_of (all_nodes F)) -> In (Zpos (fst u)) (map (fun a => Zpos (fst a)) prices).
Hypothesis saturated : forall a, In a prices -> sum_for (fst a) (uses_of (all_nodes F)) = p_ (owned a) * snd a.
Hypothesis last_is_free : forall a, In a prices -> owned a < k \/ snd a = 0.
Hypothesis owner_range : forall a, In a prices -> -1 <= owned a <= k.
Hypothesis owner_above : forall x u, In x (all_nodes F) -> In u (uses (fst x)) -> piece_of x <= owned u.

Definition price_if (b : Z) (l : list (positive * Z)) (a : positive * Z) : Z :=
  if owned a =? b then (if mentions (fst a) l then snd a else 0) else 0.
Definition price_of (b : Z) (a : positive * Z) : Z := if owned a =? b then snd a else 0.

(** What a pruning pays in piece b, and what all of it costs. *)
Definition paid b P : Z :=
  sum (at_piece b split_of) (kept_nodes F P) + sum (price_if b (uses_of (kept_nodes F P))) prices.
Definition full b : Z := sum (at_piece b split_of) (all_nodes F) + sum (price_of b) prices.
Definition gained b P : Z := sum (at_piece b gain_of) (kept_nodes F P).
Definition full_gain b : Z := sum (at_piece b gain_of) (all_nodes F).

Lemma at_scale b c f l : sum (at_piece b (fun x => c * f x)) l = c * sum (at_piece b f) l.
Proof. rewrite <- sum_scale. apply sum_eq. intros. unfold at_piece. destruct (piece_of x =? b); ring. Qed.

Lemma all_fit : forall x, In x (all_nodes F) -> exists above from_below, fits_at above (fst x) from_below (gain_of x).
Proof. exact (nodes_fit _ _ F_fits). Qed.

Lemma split_nonneg b x : In x (all_nodes F) -> 0 <= at_piece b split_of x.
Proof.
  intros x_in. unfold at_piece, split_of. destruct (piece_of x =? b); [|lia]. destruct (all_fit x x_in) as [a [f here]].
  apply (is_flow_facts _ _ _ (a_flow _ _ _ _ here)).
Qed.

Lemma kept_uses P : prunes F P -> forall u, In u (uses_of (kept_nodes F P)) -> In u (uses_of (all_nodes F)).
Proof.
  intros prunes_F u. unfold uses_of. rewrite !in_flat_map. intros [x [x_in u_in]]. exists x.
  split; [eapply kept_are_nodes; eauto | assumption].
Qed.

Lemma paid_bounds b P : prunes F P -> 0 <= paid b P <= full b.
Proof.
  intros prunes_F. unfold paid, full.
  assert (sum (at_piece b split_of) (kept_nodes F P) <= sum (at_piece b split_of) (all_nodes F)).
  { apply kept_sum_le; [apply split_nonneg | assumption]. }
  assert (0 <= sum (at_piece b split_of) (kept_nodes F P)).
  { apply sum_nonneg. intros x x_in. apply split_nonneg. eapply kept_are_nodes; eauto. }
  assert (0 <= sum (price_if b (uses_of (kept_nodes F P))) prices <= sum (price_of b) prices); [|lia].
  split.
  - apply sum_nonneg. intros a a_in. specialize (prices_nonneg a a_in). unfold price_if.
    destruct (owned a =? b); [|lia]. destruct (mentions _ _); lia.
  - apply sum_le. intros a a_in. specialize (prices_nonneg a a_in). unfold price_if, price_of.
    destruct (owned a =? b); [|lia]. destruct (mentions _ _); lia.
Qed.

Lemma sent_kept b P : -1 <= b < k -> prunes F P ->
  sum (at_piece b sent_of) (kept_nodes F P) <= p_ b * sum (price_if b (uses_of (kept_nodes F P))) prices.
Proof.
  intros range prunes_F. rewrite sent_by_owner.
  2: { intros x x_in. apply all_fit. eapply kept_are_nodes; eauto. }
  2: { intros u u_in. apply known. eapply kept_uses; eauto. }
  rewrite <- sum_scale. apply sum_le. intros a a_in. unfold price_if.
  destruct (Z.eqb_spec (owned a) b) as [same|]; [|lia]. destruct (mentions (fst a) (uses_of (kept_nodes F P))) eqn:used.
  - rewrite <- same, <- saturated by assumption. unfold sum_for, uses_of. rewrite !sum_flat_map.
    apply kept_sum_le; [|assumption]. intros x x_in. apply sum_nonneg. intros u u_in.
    destruct (all_fit x x_in) as [above [f here]]. destruct (Zpos (fst u) =? Zpos (fst a)); [|lia].
    apply (is_flow_facts _ _ _ (a_flow _ _ _ _ here)). exact u_in.
  - rewrite sum_for_absent by assumption. lia.
Qed.

Lemma sent_all b : sum (at_piece b sent_of) (all_nodes F) = p_ b * sum (price_of b) prices.
Proof.
  rewrite (sent_by_owner b _ all_fit known), <- sum_scale. apply sum_eq. intros a a_in. unfold price_of.
  destruct (Z.eqb_spec (owned a) b) as [<-|]; [apply saturated; assumption | ring].
Qed.

Lemma nothing_up b : b <= k -> up_at b F = 0.
Proof. intros. apply (up_at_other _ _ _ F_fits). lia. Qed.

Lemma bound b P : -1 <= b < k -> prunes F P -> q_ b * gained b P <= p_ b * paid b P.
Proof.
  intros range prunes_F. assert (H := piece_bound b _ F ltac:(lia) F_fits P prunes_F).
  rewrite !at_scale, nothing_up in H by lia. assert (S := sent_kept b P range prunes_F). unfold gained, paid. lia.
Qed.

Lemma total b : 0 <= b <= k -> p_ b * full b <= q_ b * full_gain b.
Proof.
  intros range. assert (H := piece_total b _ F ltac:(lia) F_fits). rewrite !at_scale, nothing_up, sent_all in H by lia.
  unfold full, full_gain. lia.
Qed.

Variables (p q : Z).
Hypothesis p_nonneg : 0 <= p.
Hypothesis q_pos : 0 < q.

Lemma dropped_piece b P : -1 <= b < k -> p_ b * q <= p * q_ b -> prunes F P -> q * gained b P <= p * paid b P.
Proof.
  intros range late prunes_F. assert (B := bound b P range prunes_F). assert (C := paid_bounds b P prunes_F).
  assert (q_b : 0 < q_ b).
  { assert (S := scales b ltac:(lia)). destruct ((0 <=? b) && (b <? k)); lia. }
  apply Z.mul_le_mono_pos_l with (p := q_ b); [assumption|].
  transitivity (q * (p_ b * paid b P)); [nia|]. nia.
Qed.

Lemma kept_piece b P : 0 <= b < k -> p * q_ b <= p_ b * q -> prunes F P ->
  q * gained b P - p * paid b P <= q * full_gain b - p * full b.
Proof.
  intros range early prunes_F. assert (B := bound b P ltac:(lia) prunes_F). assert (T := total b ltac:(lia)).
  assert (C := paid_bounds b P prunes_F).
  assert (q_b : 0 < q_ b).
  { assert (S := scales b ltac:(lia)). destruct ((0 <=? b) && (b <? k)); lia. }
  enough (p * (full b - paid b P) <= q * (full_gain b - gained b P)) by lia.
  apply Z.mul_le_mono_pos_l with (p := q_ b); [assumption|].
  transitivity (q * (p_ b * (full b - paid b P))); [nia|].
  assert (p_ b * (full b - paid b P) <= q_ b * (full_gain b - gained b P)) by lia. nia.
Qed.

Lemma always_kept P : prunes F P -> q * gained k P - p * paid k P <= q * full_gain k - p * full k.
Proof.
  intros prunes_F. assert (C := paid_bounds k P prunes_F). assert (G := last_piece _ _ F_fits P prunes_F).
  fold (gained k P) (full_gain k) in G.
  assert (full k = 0); [|nia]. unfold full. rewrite !sum_zero; [reflexivity| |].
  - intros a a_in. unfold price_of. destruct (last_is_free a a_in); destruct (Z.eqb_spec (owned a) k); lia.
  - intros x x_in. unfold at_piece, split_of, piece_of. destruct (all_fit x x_in) as [a [f here]].
    destruct (Z.eqb_spec (piece (fst x)) k); [|reflexivity]. destruct (a_free _ _ _ _ here); lia.
Qed.

(** ** The pruning that keeps the pieces from i on *)

Lemma cut_prunes i G : prunes G (cut_at i G).
Proof.
  induction G as [|n below IHb beside IHs]; [exact I|]. cbn [cut_at]. destruct below as [|n' b b'] eqn:is_below; [exact IHs|].
  rewrite <- is_below in *. destruct (i <=? piece n); [|exact IHs].
  repeat split; [rewrite is_below; discriminate | assumption | assumption].
Qed.

Lemma pieces_fall above G : fits above G = true -> forall x, In x (all_nodes G) -> piece_of x <= above.
Proof.
  revert above. induction G as [|n below IHb beside IHs]; intros above fits_G x; [intros []|]. cbn [all_nodes].
  destruct below as [|n' b' b''] eqn:is_below.
  - apply fits_leaf in fits_G. apply IHs. tauto.
  - rewrite <- is_below in *. apply fits_tree in fits_G; [|rewrite is_below; discriminate].
    destruct fits_G as [here [fits_b fits_s]]. assert (A := a_above _ _ _ _ here).
    intros [<-|x_in]; [exact A|]. apply in_app_or in x_in. destruct x_in as [x_in|x_in].
    + specialize (IHb _ fits_b x x_in). lia.
    + exact (IHs _ fits_s x x_in).
Qed.

Lemma cut_sum i f above G : fits above G = true ->
  sum f (kept_nodes G (cut_at i G)) = sum (fun x => if i <=? piece_of x then f x else 0) (all_nodes G).
Proof.
  revert above. induction G as [|n below IHb beside IHs]; intros above fits_G; [reflexivity|].
  cbn [cut_at all_nodes]. destruct below as [|n' b' b''] eqn:is_below.
  - apply fits_leaf in fits_G. cbn [kept_nodes]. apply (IHs above). tauto.
  - rewrite <- is_below in *. apply fits_tree in fits_G; [|rewrite is_below; discriminate].
    destruct fits_G as [here [fits_b fits_s]]. rewrite sum_cons, sum_app.
    change (piece_of (n, root_errors below)) with (piece n). destruct (Z.leb_spec i (piece n)) as [late|early].
    + cbn [kept_nodes]. rewrite sum_cons, sum_app, (IHb _ fits_b), (IHs _ fits_s). reflexivity.
    + cbn [kept_nodes]. rewrite (IHs _ fits_s).
      rewrite (sum_zero _ _ (all_nodes below)); [ring|]. intros x x_in. assert (A := pieces_fall _ _ fits_b x x_in).
      destruct (Z.leb_spec i (piece_of x)); [lia|reflexivity].
Qed.

Lemma cut_pieces i G x : In x (kept_nodes G (cut_at i G)) -> i <= piece_of x.
Proof.
  induction G as [|n below IHb beside IHs]; [intros []|]. cbn [cut_at]. destruct below as [|n' b b'] eqn:is_below; [exact IHs|].
  rewrite <- is_below in *. destruct (Z.leb_spec i (piece n)); cbn [kept_nodes]; [|exact IHs].
  intros [<-|x_in]; [assumption|]. apply in_app_or in x_in. tauto.
Qed.

Lemma cut_gained i b : gained b (cut_at i F) = if i <=? b then full_gain b else 0.
Proof.
  unfold gained, full_gain. rewrite (cut_sum _ _ _ _ F_fits). destruct (Z.leb_spec i b).
  - apply sum_eq. intros x _. unfold at_piece. destruct (Z.eqb_spec (piece_of x) b); destruct (Z.leb_spec i (piece_of x)); lia.
  - apply sum_zero. intros x _. unfold at_piece. destruct (Z.eqb_spec (piece_of x) b); destruct (Z.leb_spec i (piece_of x)); lia.
Qed.

Lemma cut_paid i b : b < i -> paid b (cut_at i F) = 0.
Proof.
  intros early. unfold paid. rewrite (cut_sum _ _ _ _ F_fits), !sum_zero; [reflexivity| |].
  - intros a _. unfold price_if. destruct (Z.eqb_spec (owned a) b) as [same|]; [|reflexivity].
    destruct (mentions (fst a) (uses_of (kept_nodes F (cut_at i F)))) eqn:used; [exfalso|reflexivity].
    unfold mentions in used. rewrite existsb_exists in used. destruct used as [u [u_in same_id]].
    apply Pos.eqb_eq in same_id. unfold uses_of in u_in. rewrite in_flat_map in u_in. destruct u_in as [x [x_in u_in]].
    assert (A := cut_pieces _ _ _ x_in). apply (kept_are_nodes F _ (cut_prunes i F)) in x_in.
    assert (B := owner_above x u x_in u_in). rewrite <- same_id, same in B. lia.
  - intros x _. unfold at_piece. destruct (Z.eqb_spec (piece_of x) b); destruct (Z.leb_spec i (piece_of x)); lia.
Qed.

(** ** All pieces together *)

Local Notation pieces := (numbers (-1) (Z.to_nat (k + 2))).

Lemma in_pieces b : In b pieces <-> -1 <= b <= k.
Proof.
  unfold numbers. rewrite in_map_iff. split.
  - intros [n [<- n_in]]. apply in_seq in n_in. lia.
  - intros range. exists (Z.to_nat (b + 1)). rewrite in_seq. lia.
Qed.

Lemma distinct_pieces : NoDup pieces.
Proof.
  unfold numbers. generalize 0%nat as from. induction (Z.to_nat (k + 2)) as [|n IH]; intros from; cbn [seq map]; [constructor|].
  constructor; [|apply IH]. rewrite in_map_iff. intros [m [same m_in]]. apply in_seq in m_in. lia.
Qed.

Lemma gains_by_piece P : prunes F P -> sum gain_of (kept_nodes F P) = sum (fun b => gained b P) pieces.
Proof.
  intros prunes_F. symmetry. apply (sum_by_key _ piece_of gain_of _ _ distinct_pieces).
  intros x x_in. apply in_pieces. destruct (all_fit x (kept_are_nodes _ _ prunes_F x x_in)) as [a [f here]].
  exact (a_range _ _ _ _ here).
Qed.

Lemma cost_by_piece P : prunes F P -> cost prices F P = sum (fun b => paid b P) pieces.
Proof.
  intros prunes_F. unfold cost, paid. rewrite sum_plus.
  assert (acquisitions := sum_by_key _ (fun a => owned a)
    (fun a => if mentions (fst a) (uses_of (kept_nodes F P)) then snd a else 0) pieces prices distinct_pieces).
  assert (splits := sum_by_key _ piece_of split_of pieces (kept_nodes F P) distinct_pieces).
  rewrite <- acquisitions by (intros; apply in_pieces, owner_range; assumption).
  change (sum (fun x => split_cost (fst x)) (kept_nodes F P)) with (sum split_of (kept_nodes F P)).
  rewrite <- splits; [unfold at_piece, price_if; ring|].
  intros x x_in. apply in_pieces. destruct (all_fit x (kept_are_nodes _ _ prunes_F x x_in)) as [a [f here]].
  exact (a_range _ _ _ _ here).
Qed.

Lemma cut_is_optimal i : 0 <= i <= k ->
  (forall b, 0 <= b < i -> p_ b * q <= p * q_ b) -> (forall b, i <= b < k -> p * q_ b <= p_ b * q) ->
  optimal p q prices F (cut_at i F).
Proof.
  intros i_range late early. split; [apply cut_prunes|]. intros P prunes_F. assert (cut := cut_prunes i F).
  unfold objective. rewrite (error_gains F P prunes_F), (error_gains F _ cut).
  rewrite (gains_by_piece P prunes_F), (gains_by_piece _ cut), (cost_by_piece P prunes_F), (cost_by_piece _ cut).
  enough (sum (fun b => q * gained b P + - p * paid b P) pieces
          <= sum (fun b => q * gained b (cut_at i F) + - p * paid b (cut_at i F)) pieces) as H.
  { rewrite !sum_plus, !sum_scale in H. lia. }
  apply sum_le. intros b b_in. apply in_pieces in b_in. rewrite cut_gained.
  destruct (Z.leb_spec i b) as [kept_b|dropped_b].
  - assert (C := paid_bounds b _ cut).
    assert (q * gained b P - p * paid b P <= q * full_gain b - p * full b).
    { destruct (Z.eq_dec b k) as [->|]; [apply always_kept; assumption|].
      apply kept_piece; [lia | apply early; lia | assumption]. }
    nia.
  - rewrite cut_paid by assumption.
    assert (q * gained b P <= p * paid b P); [|lia].
    apply dropped_piece; [lia | | assumption]. destruct (Z.eq_dec b (-1)) as [->|]; [|apply late; lia].
    assert (S := scales (-1) ltac:(lia)). cbn in S. destruct S as [-> ->]. lia.
Qed.

End Path.

Lemma get_owners_cons i c l j :
  get (owners ((i, c) :: l)) (-1) j = if Pos.eqb j i then Z.max c (get (owners l) (-1) j) else get (owners l) (-1) j.
Proof.
  change (owners ((i, c) :: l)) with (PositiveMap.add i (Z.max c (get (owners l) (-1) i)) (owners l)).
  unfold get at 1. destruct (Pos.eqb_spec j i) as [->|differs].
  - rewrite PositiveMap.gss. reflexivity.
  - rewrite PositiveMap.gso by exact differs. reflexivity.
Qed.

Lemma owners_above l j b : In (j, b) l -> b <= get (owners l) (-1) j.
Proof.
  induction l as [|[i c] l IH]; [intros []|]. rewrite get_owners_cons. intros [[= -> ->]|in_l].
  - rewrite Pos.eqb_refl. lia.
  - specialize (IH in_l). destruct (Pos.eqb j i); lia.
Qed.

Lemma owners_range l k j : -1 <= k -> (forall u, In u l -> snd u <= k) -> -1 <= get (owners l) (-1) j <= k.
Proof.
  intros k_range. induction l as [|[i c] l IH]; intros small.
  { unfold get, owners. cbn [fold_right]. rewrite PositiveMap.gempty. lia. }
  rewrite get_owners_cons. specialize (IH (fun u u_in => small u (or_intror u_in))).
  assert (c <= k) by (apply (small (i, c)); left; reflexivity). destruct (Pos.eqb j i); lia.
Qed.

(** Pruning i of the path, i = 0, ..., k, is optimal for every lambda = p / q between the breakpoints i - 1 and i. *)
Theorem check_path_optimal breakpoints prices F :
  check_path breakpoints prices F = true ->
  let k := Z.of_nat (length breakpoints) in
  forall i p q, 0 <= i <= k -> 0 <= p -> 0 < q ->
  (forall b, 0 <= b < i -> fst (scale_of breakpoints b) * q <= p * snd (scale_of breakpoints b)) ->
  (forall b, i <= b < k -> p * snd (scale_of breakpoints b) <= fst (scale_of breakpoints b) * q) ->
  optimal p q prices F (cut_at i F).
Proof.
  unfold check_path. set (k := Z.of_nat (length breakpoints)). set (scale := scale_of breakpoints).
  rewrite !andb_true_iff, forallb_forall. intros [[[[[[_ scaled] sorted] known] fits] _] saturated] i p q.
  intros i_range p_nonneg q_pos late early. apply increasing_from in sorted. destruct sorted as [distinct nonneg].
  assert (k_nonneg : 0 <= k) by apply Nat2Z.is_nonneg.
  assert (scales : forall b, -1 <= b <= k ->
    if (0 <=? b) && (b <? k) then 0 < fst (scale b) /\ 0 < snd (scale b) else fst (scale b) = 0 /\ snd (scale b) = 1).
  { intros b b_range. unfold positive_scales in scaled. rewrite forallb_forall in scaled.
    specialize (scaled b (proj2 (in_pieces k k_nonneg b) b_range)).
    destruct ((0 <=? b) && (b <? k)); rewrite andb_true_iff, ?Z.ltb_lt, ?Z.eqb_eq in scaled; exact scaled. }
  eapply cut_is_optimal with (k := k) (scale := scale) (owner := owners (uses_by_piece F)); try eassumption.
  - intros a a_in. apply nonneg, a_in.
  - apply known_uses_in. assumption.
  - intros a a_in. specialize (saturated a a_in). rewrite !andb_true_iff, Z.eqb_eq, get_inflow in saturated. tauto.
  - intros a a_in. specialize (saturated a a_in).
    rewrite !andb_true_iff, orb_true_iff, Z.ltb_lt, !Z.eqb_eq in saturated. tauto.
  - intros a _. apply owners_range; [lia|]. intros u u_in. unfold uses_by_piece in u_in. rewrite in_flat_map in u_in.
    destruct u_in as [x [x_in u_in]]. rewrite in_map_iff in u_in. destruct u_in as [v [<- _]]. cbn [snd].
    destruct (nodes_fit _ _ _ _ _ fits x x_in) as [above [f here]]. apply (a_range _ _ _ _ _ _ _ here).
  - intros x u x_in u_in. apply owners_above. unfold uses_by_piece. rewrite in_flat_map. exists x.
    split; [assumption|]. rewrite in_map_iff. exists u. split; [reflexivity | assumption].
Qed.

(** ** Budgets

    What is optimal for some lambda is the best for its own cost as a budget: at the breakpoints' costs the path solves
    the budget problem.  (Between them it need not: Corollary 4.3 of the optimal-pruning paper is false there.) *)
Theorem optimal_within_its_cost p q prices F P : 0 <= p -> 0 < q -> optimal p q prices F P ->
  forall P', prunes F P' -> cost prices F P' <= cost prices F P -> error F P <= error F P'.
Proof.
  intros p_nonneg q_pos [_ least] P' fits cheaper. specialize (least P' fits). unfold objective in least.
  apply Z.mul_le_mono_pos_l with (p := q); [assumption|]. nia.
Qed.

(** An example: one split that saves two errors of three for an acquisition of price 5, at lambda = 1/5. *)
Example stump : forest :=
  Tree (Node 3 0 [(1%positive, 5)] true (-1) 5 0 0)
    (Tree (Node 1 0 [] false (-1) 0 0 0) Nil (Tree (Node 0 0 [] false (-1) 0 0 0) Nil Nil)) Nil.
Example stump_accepted : check_pruning 1 5 [(1%positive, 5)] stump = true. Proof. reflexivity. Qed.
Example stump_error : error stump (kept_part stump) = 1. Proof. reflexivity. Qed.
Example stump_too_dear : check_pruning 1 2 [(1%positive, 5)] stump = false. Proof. reflexivity. Qed.

Print Assumptions check_path_optimal.
Print Assumptions optimal_within_its_cost.
Print Assumptions check_pruning_optimal.
