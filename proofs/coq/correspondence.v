(** * The checker's forests and the program of the papers are one model

    checker.v has forests with integers at their nodes, program.v the variables, constraints and objective of the
    papers.  Here a forest of the first kind describes an instance of the second; the prunings are then the same, with the
    same errors and costs, and what the checker accepts is at least as good as every point of the relaxation. *)

Set Warnings "-notation-overridden,-ambiguous-paths".
From Coq Require Import ZArith Lia.
From Coq Require List.
From mathcomp Require Import all_ssreflect all_algebra.
From IpForest Require Import forest program integrality certificate unimodularity.
From IpForest Require checker.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Integers in an ordered field *)

Section Integers.

Variable R : realFieldType.

Definition number (a : Z) : R := (Z.to_nat a)%:R - (Z.to_nat (- a))%:R.

Lemma numberD a b : number (a + b) = number a + number b.
Proof.
rewrite /number addrACA -opprD -!natrD; apply/eqP; rewrite subr_eq addrAC eq_sym subr_eq -!natrD eqr_nat; apply/eqP.
rewrite -!plusE; lia.
Qed.

Lemma number0 : number 0 = 0.
Proof. by rewrite /number subrr. Qed.

Lemma numberN a : number (- a) = - number a.
Proof. by rewrite /number Z.opp_involutive opprB. Qed.

Lemma numberB a b : number (a - b) = number a - number b.
Proof. by rewrite -Z.add_opp_r numberD numberN. Qed.

Lemma number_ge0 a : Z.le 0 a -> 0 <= number a.
Proof. by move=> a_ge0; rewrite /number (_ : Z.to_nat (- a) = 0%N) ?subr0 ?ler0n //; lia. Qed.

Lemma number_le a b : Z.le a b -> number a <= number b.
Proof. by move=> a_b; rewrite -subr_ge0 -numberB number_ge0 //; lia. Qed.

Lemma numberM a b : number (a * b) = number a * number b.
Proof.
have natural c d : Z.le 0 c -> Z.le 0 d -> number (c * d) = number c * number d.
  move=> c_ge0 d_ge0; have zero e : Z.le 0 e -> Z.to_nat (- e) = 0%N by lia.
  by rewrite /number !zero ?subr0 ?Z2Nat.inj_mul ?natrM //; lia.
have [a_ge0|a_lt0] := Z.le_gt_cases 0 a; have [b_ge0|b_lt0] := Z.le_gt_cases 0 b.
- exact: natural.
- by apply: oppr_inj; rewrite -mulrN -!numberN -natural; [congr number| |]; lia.
- by apply: oppr_inj; rewrite -mulNr -!numberN -natural; [congr number| |]; lia.
- by rewrite -[RHS]opprK -mulrN -mulNr -!numberN -natural; [congr number| |]; lia.
Qed.

End Integers.

(** ** Forests *)

Local Arguments checker.sum : simpl never.

Section Correspondence.

Variables (R : realFieldType) (I : instance R).
Hypothesis well_formed_I : well_formed I.
Hypothesis visits_divide_I : visits_divide I.

Local Notation T := (size (trees I)).
Local Notation J := (asks I).
Local Notation K := (units I).
Local Notation N := (examples I).
Local Notation distinct := (distinct_nodes well_formed_I).
Local Notation number := (number R).

(** The acquisitions that the checker knows, numbered as it numbers them; those left out are used by no tree. *)
Variables (listed : seq (nat * nat)) (numbered : nat * nat -> positive) (prices : list (positive * Z)).

Definition first_used_at h (ki : nat * nat) : bool := [exists t : 'I_J, first_use I t ki.1 ki.2 == Some h].

Record lists_acquisitions : Prop := ListsAcquisitions {
  listed_once : uniq listed;
  listed_known : {in listed, forall ki, (ki.1 < K)%N && (ki.2 < N)%N};
  used_listed : forall h k i, (k < K)%N -> (i < N)%N -> first_used_at h (k, i) -> (k, i) \in listed;
  listed_prices : [seq (a.1, number a.2) | a <- prices] = [seq (numbered ki, price I ki.1) | ki <- listed]
}.

(** A node of the checker and its number. *)
Record fits (h : nat) (n : checker.node) : Prop := Fits {
  same_error : number (checker.errors n) = error I h;
  same_split : number (checker.split_cost n) = split_price I * visits I h;
  same_uses : {in listed, forall ki, checker.mentions (numbered ki) (checker.uses n) = first_used_at h ki}
}.

(** Children and trees stand in the same order; splits and uses of leaves do not count. *)
Inductive describes : forest -> checker.forest -> Prop :=
| DescribesNothing : describes [::] checker.Nil
| DescribesLeaf h n F beside : number (checker.errors n) = error I h -> describes F beside ->
    describes (Node h [::] :: F) (checker.Tree n checker.Nil beside)
| DescribesNode h n children F below beside : children <> [::] -> fits h n -> describes children below ->
    describes F beside -> describes (Node h children :: F) (checker.Tree n below beside).

(** ** Prunings *)

Fixpoint tree_pruning (kept : pred nat) (t : tree) (beside : checker.pruning) : checker.pruning :=
  let: Node h children := t in
  if kept h then checker.Keep (foldr (tree_pruning kept) checker.Done children) beside else checker.Cut beside.

Definition forest_pruning kept (F : forest) : checker.pruning := foldr (tree_pruning kept) checker.Done F.

(** What [pruning] asks for, of a forest by itself. *)
Record closed (kept : pred nat) (F : forest) : Prop := Closed {
  no_leaf_kept : {in leaves F, forall h, ~~ kept h};
  parents_kept : {in edges F, forall e, kept e.2 -> kept e.1}
}.

Lemma closed_pruning kept : closed kept (trees I) <-> pruning I kept.
Proof.
split=> [[no_leaf parents]|[no_leaf upwards]].
  by apply: pruning_of_edges => // a c /parents.
split=> // -[a c] edge /= c_kept; have [a_node p_c] := path_to_child distinct edge.
have [_ c_node] := edge_nodes edge; have /allP := upwards c c_node c_kept; apply.
by rewrite p_c mem_rcons inE mem_own_path ?orbT.
Qed.

Lemma nodes_node h children F : nodes (Node h children :: F) = h :: nodes children ++ nodes F.
Proof. by []. Qed.

Lemma edges_node h children F :
  edges (Node h children :: F) = [seq (h, r) | r <- roots children] ++ edges children ++ edges F.
Proof. by rewrite edges_cons tree_edges_node (map_comp (pair h) root) catA. Qed.

Lemma leaves_node h children F :
  leaves (Node h children :: F) = (if children is [::] then [:: h] else leaves children) ++ leaves F.
Proof. by case: children. Qed.

Lemma closed_parts kept h children F : closed kept (Node h children :: F) ->
  [/\ closed kept children \/ children = [::], closed kept F & {in roots children, forall r, kept r -> kept h}].
Proof.
case=> no_leaf parents; split.
- case: children no_leaf parents => [|t children] no_leaf parents; [by right | left].
  split=> [g g_leaf|e e_edge]; first by rewrite no_leaf // leaves_node mem_cat g_leaf.
  by apply: parents; rewrite edges_node mem_cat [X in _ || X]mem_cat e_edge orbT.
- split=> [g g_leaf|e e_edge]; first by rewrite no_leaf // leaves_node mem_cat g_leaf orbT.
  by apply: parents; rewrite edges_node mem_cat [X in _ || X]mem_cat e_edge !orbT.
by move=> r r_root; apply: (parents (h, r)); rewrite edges_node mem_cat map_f.
Qed.

(** Below nodes that are not kept nothing is. *)
Lemma nothing_below (kept : pred nat) F : {in edges F, forall e, kept e.2 -> kept e.1} -> {in roots F, forall r, ~~ kept r} ->
  {in nodes F, forall h, ~~ kept h}.
Proof.
elim/(@forest_ind (fun t => {in tree_edges t, forall e, kept e.2 -> kept e.1} -> ~~ kept (root t) ->
    {in tree_nodes t, forall h, ~~ kept h})): F => [|t F tP FP|h F FP] // parents no_root g.
  rewrite mem_cat => /orP[/tP|/FP]; apply=> [e e_edge|]; try by apply: parents; rewrite edges_cons mem_cat e_edge ?orbT.
    by apply: no_root; rewrite mem_head.
  by move=> r r_root; apply: no_root; rewrite inE r_root orbT.
rewrite inE => /orP[/eqP->//|/FP]; apply=> [e e_edge|r r_root].
  by apply: parents; rewrite tree_edges_node mem_cat e_edge orbT.
apply: contra no_root => r_kept; apply: (parents (h, r)) => //.
by rewrite tree_edges_node (map_comp (pair h) root) mem_cat map_f.
Qed.

Lemma cut_below (kept : pred nat) h children F : closed kept (Node h children :: F) -> kept h = false ->
  {in nodes children, forall g, ~~ kept g}.
Proof.
move=> F_closed h_cut; have [_ _ roots_kept] := closed_parts F_closed; apply: nothing_below => [e e_edge|r /roots_kept].
  by apply: (parents_kept F_closed); rewrite edges_node mem_cat [X in _ || X]mem_cat e_edge orbT.
by rewrite h_cut => r_cut; apply/negP => /r_cut.
Qed.

Lemma pruning_fits (kept : pred nat) F G : describes F G -> closed kept F -> checker.prunes G (forest_pruning kept F).
Proof.
elim=> {F G} [//|h n F beside _ _ IH|h n children F below beside inner _ describes_below IHb _ IHs] F_closed /=.
  have [_ /IH fits_F _] := closed_parts F_closed.
  by rewrite (negbTE (no_leaf_kept F_closed (mem_head _ _))).
have [[children_closed|//] /IHs fits_F _] := closed_parts F_closed.
case: ifP => // _; split; last by split; [exact: IHb | exact: fits_F].
by case: describes_below inner.
Qed.

Lemma same_root_errors F G : describes F G -> number (checker.root_errors G) = \sum_(r <- roots F) error I r.
Proof.
elim=> {F G} [|h n F beside same _ IH|h n children F below beside _ [same _ _] _ _ _ IH] /=.
- by rewrite big_nil number0.
- by rewrite numberD same IH /roots /= big_cons.
by rewrite numberD same IH /roots /= big_cons.
Qed.

(** Sums over the nodes that are kept: of a at the node, less b at its children. *)
Lemma kept_sum (kept : pred nat) (f : checker.node * Z -> Z) (a b : nat -> R) :
  (forall h n children below, fits h n -> describes children below ->
    number (f (n, checker.root_errors below)) = a h - \sum_(r <- roots children) b r) ->
  forall F G, describes F G -> closed kept F ->
  number (checker.sum f (checker.kept_nodes G (forest_pruning kept F)))
  = \sum_(h <- nodes F | kept h) a h - \sum_(e <- edges F | kept e.1) b e.2.
Proof.
move=> f_value F G; elim=> {F G} [_|h n F beside _ _ IH|h n children F below beside inner n_fits describes_below IHb _ IHs].
- by rewrite !big_nil subrr number0.
- move=> F_closed; have [_ /IH IHs _] := closed_parts F_closed.
  have h_cut := negbTE (no_leaf_kept F_closed (mem_head _ _)).
  by rewrite /= h_cut IHs nodes_node edges_node big_cons h_cut.
move=> F_closed; have [[children_closed|//] /IHs sum_F _] := closed_parts F_closed.
rewrite nodes_node edges_node big_cons !big_cat [X in _ - (X + _)]big_map /=.
case h_kept: (kept h); rewrite /= ?h_kept.
  rewrite checker.sum_cons checker.sum_app !numberD (f_value h n children) // IHb // sum_F.
  by rewrite [X in _ + X]addrACA addrACA -!opprD.
have none := cut_below F_closed h_kept.
rewrite sum_F big_pred0_eq add0r; congr (_ - _).
  by rewrite [X in _ = X + _]big_hasC ?add0r //; apply/hasPn.
by rewrite [X in _ = X + _]big_hasC ?add0r //; apply/hasPn => -[g c] /edge_nodes[/none].
Qed.

(** The acquisitions of what is kept. *)
Lemma kept_uses (kept : pred nat) ki F G : describes F G -> closed kept F -> ki \in listed ->
  checker.mentions (numbered ki) (checker.uses_of (checker.kept_nodes G (forest_pruning kept F)))
  = has (fun h => kept h && first_used_at h ki) (nodes F).
Proof.
move=> F_G F_closed ki_listed; elim: F_G F_closed => {F G} [//|h n F beside _ _ IH|h n children F below beside inner n_fits _ IHb _ IHs].
  move=> F_closed; have [_ /IH uses_F _] := closed_parts F_closed.
  by rewrite nodes_node /= (negbTE (no_leaf_kept F_closed (mem_head _ _))) uses_F.
move=> F_closed; have [[children_closed|//] /IHs uses_F _] := closed_parts F_closed.
rewrite nodes_node /= has_cat; case h_kept: (kept h) => /=; last first.
  by rewrite uses_F [X in X || _](negbTE (_ : ~~ has _ _)) //; apply/hasPn => g /(cut_below F_closed h_kept)/negbTE->.
rewrite /checker.mentions /= List.existsb_app -/(checker.mentions _ _) (same_uses n_fits ki_listed); congr (_ || _).
rewrite checker.uses_app List.existsb_app; congr (_ || _); [exact: IHb | exact: uses_F].
Qed.

Lemma acquired_has (kept : pred nat) k i : (k < K)%N -> (i < N)%N ->
  acquired I kept k i = has (fun h => kept h && first_used_at h (k, i)) (nodes (trees I)).
Proof.
move=> kK iN; apply/existsP/hasP => [[t]|[h h_node /andP[h_kept /existsP[t /eqP use]]]]; last first.
  by exists t; rewrite use.
case use: first_use => [u|//] u_kept; exists u; first exact: (first_use_node well_formed_I (ltn_ord t) kK iN use).
by rewrite u_kept; apply/existsP; exists t; rewrite use.
Qed.

Lemma same_pruning kept kept' F : {in nodes F, kept =1 kept'} -> forest_pruning kept F = forest_pruning kept' F.
Proof.
elim/(@forest_ind (fun t => {in tree_nodes t, kept =1 kept'} -> tree_pruning kept t =1 tree_pruning kept' t)): F
  => //= [t F tP FP|h F FP] same.
  by rewrite tP ?FP // => h h_in; apply: same; rewrite mem_cat h_in ?orbT.
move=> beside; rewrite /= same ?mem_head //; case: ifP => // _.
by congr checker.Keep; apply: FP => g g_in; apply: same; rewrite inE g_in orbT.
Qed.

(** Every pruning of the checker's forest is one of the program's. *)
Lemma pruning_of_checker F G P : describes F G -> uniq (nodes F) -> checker.prunes G P ->
  exists2 kept : seq nat, {subset kept <= nodes F} & closed (mem kept) F /\ forest_pruning (mem kept) F = P.
Proof.
move=> F_G; elim: F_G P => {F G} [|h n F beside _ _ IH|h n children F below beside inner _ _ IHb _ IHs] P.
- by case: P => // _ _; exists [::].
- rewrite nodes_node cons_uniq => /andP[h_fresh F_uniq]; case: P => // [P|P Q] fits_P; last by case: fits_P.
  have [kept kept_F [[no_leaf parents] <-]] := IH P F_uniq fits_P.
  have h_cut : h \notin kept by apply: contra h_fresh => /kept_F.
  exists kept => [g /kept_F g_F|]; first by rewrite inE g_F orbT.
  split; last by rewrite /forest_pruning /= (negbTE h_cut).
  by split=> g; [rewrite leaves_node inE => /orP[/eqP->|/no_leaf] | rewrite edges_node => /parents].
rewrite nodes_node cons_uniq mem_cat negb_or cat_uniq => /andP[/andP[h_children h_F] /and3P[c_uniq /hasPn apart F_uniq]].
have apart' g : g \in nodes children -> g \in nodes F = false.
  by move=> g_children; apply/negP => /apart/negP; apply.
have c_leaves : (if children is [::] then [:: h] else leaves children) = leaves children by case: (children) inner.
have root_node r : r \in roots children -> r \in nodes children.
  by move=> r_root; rewrite (perm_mem (perm_nodes children)) mem_cat r_root.
case: P => // [P fits_P|Q P [_ [fits_Q fits_P]]].
  have [kept kept_F [[no_leaf parents] <-]] := IHs P F_uniq fits_P.
  have cut g : g \in nodes children -> g \in kept = false by move=> /apart' g_F; apply/negP => /kept_F; rewrite g_F.
  have h_cut : h \notin kept by apply: contra h_F => /kept_F.
  exists kept => [g /kept_F g_F|]; first by rewrite inE mem_cat g_F !orbT.
  split; last by rewrite /forest_pruning /= (negbTE h_cut).
  split=> [g|[a c]].
    by rewrite leaves_node c_leaves mem_cat => /orP[/leaves_sub_nodes/cut g_cut|/no_leaf //]; rewrite /= g_cut.
  rewrite edges_node mem_cat [X in _ || X]mem_cat => /or3P[/mapP[r /root_node/cut r_cut [_ ->]]|/edge_nodes[_ /cut c_cut]|/parents//].
    by rewrite /= r_cut.
  by rewrite /= c_cut.
have [k1 k1_c [[no_leaf1 parents1] <-]] := IHb Q c_uniq fits_Q.
have [k2 k2_F [[no_leaf2 parents2] <-]] := IHs P F_uniq fits_P.
have in_children : {in nodes children, mem (h :: k1 ++ k2) =1 mem k1}.
  move=> g g_c; rewrite /= inE mem_cat; case: eqP g_c => [-> h_c|_ /apart' g_F]; first by rewrite h_c in h_children.
  by case g_k2: (g \in k2); rewrite ?orbF //; rewrite (k2_F _ g_k2) in g_F.
have in_F : {in nodes F, mem (h :: k1 ++ k2) =1 mem k2}.
  move=> g g_F; rewrite /= inE mem_cat; case: eqP g_F => [-> h_in|_ g_F]; first by rewrite h_in in h_F.
  by case g_k1: (g \in k1) => //=; have := apart' g (k1_c _ g_k1); rewrite g_F.
exists (h :: k1 ++ k2) => [g|].
  by rewrite !inE !mem_cat => /or3P[->|/k1_c->|/k2_F->]; rewrite ?orbT.
split; last by rewrite /= mem_head -(same_pruning in_children) -(same_pruning in_F).
split=> [g|[a c]].
  rewrite leaves_node c_leaves mem_cat => /orP[g_leaf|g_leaf].
    by rewrite (in_children g (leaves_sub_nodes g_leaf)) no_leaf1.
  by rewrite (in_F g (leaves_sub_nodes g_leaf)) no_leaf2.
rewrite edges_node mem_cat [X in _ || X]mem_cat => /or3P[/mapP[r _ [-> _]] _|edge|edge].
- exact: mem_head.
- have [a_c c_c] := edge_nodes edge; rewrite (in_children _ a_c) (in_children _ c_c); exact: (parents1 _ edge).
have [a_F c_F] := edge_nodes edge; rewrite (in_F _ a_F) (in_F _ c_F); exact: (parents2 _ edge).
Qed.

(** ** The two models agree *)

Section Agreement.

Hypothesis lists : lists_acquisitions.
Variable G : checker.forest.
Hypothesis describes_trees : describes (trees I) G.

Theorem same_errors kept : pruning I kept ->
  number (checker.error G (forest_pruning kept (trees I))) = errors I (point_of I kept).
Proof.
move=> kept_pruning; have kept_closed := (closed_pruning kept).2 kept_pruning.
have [s_constraints _] := point_of_feasible well_formed_I kept_pruning.
rewrite checker.error_gains; last exact: pruning_fits.
rewrite numberB (same_root_errors describes_trees).
rewrite (kept_sum (a := error I) (b := error I)) // => [|h n children below [same _ _] below_described]; last first.
  by rewrite /checker.gain_of /= numberB same (same_root_errors below_described).
rewrite /errors sum_by_parts //; congr (_ - _).
transitivity (\sum_(h <- nodes (trees I)) (kept h)%:R * (error I h - \sum_(c <- children (trees I) h) error I c)).
  under [RHS]eq_bigr do rewrite mulrBr.
  rewrite sumrB (sum_children well_formed_I (fun h => (kept h)%:R)) [X in X - _]big_mkcond [X in _ - X]big_mkcond.
  by congr (_ - _); apply: eq_bigr => j _; case: (kept _); rewrite ?mul1r ?mul0r.
by apply: eq_big_seq => h h_node; rewrite (x_point_of well_formed_I).
Qed.

Theorem same_costs kept : pruning I kept ->
  number (checker.cost prices G (forest_pruning kept (trees I))) = costs I (point_of I kept).
Proof.
move=> kept_pruning; have kept_closed := (closed_pruning kept).2 kept_pruning.
have [s_constraints _] := point_of_feasible well_formed_I kept_pruning.
have := weighted_closure 1 0 well_formed_I visits_divide_I s_constraints.
rewrite /weighted mul0r add0r mul1r => ->; rewrite mul0r add0r addrC numberD; congr (_ + _); last first.
  rewrite (kept_sum (a := fun h => split_price I * visits I h) (b := fun=> 0)) // => [|h n children below n_fits _]; last first.
    by rewrite big1_eq subr0 (same_split n_fits).
  rewrite [X in _ - X]big1_eq subr0 big_mkcond -(sum_internal _ s_constraints); apply: eq_big_seq => h h_node.
  by rewrite (x_point_of well_formed_I) // mul0r subr0 mul1r; case: (kept h); rewrite ?mul1r ?mul0r.
have [listed_uniq known used_listed same_prices] := lists.
pose used := checker.uses_of (checker.kept_nodes G (forest_pruning kept (trees I))).
have paid_sum l : number (checker.sum (fun a => if checker.mentions a.1 used then a.2 else Z0) l)
    = \sum_(a <- [seq (a.1, number a.2) | a <- l] | checker.mentions a.1 used) a.2.
  elim: l => [|[j c] l IH]; first by rewrite big_nil number0.
  by rewrite checker.sum_cons numberD IH /= big_cons /=; case: ifP => _; rewrite ?number0 ?add0r.
rewrite paid_sum same_prices big_map /=.
transitivity (\sum_(ki <- listed | acquired I kept ki.1 ki.2) price I ki.1).
  rewrite big_seq_cond [RHS]big_seq_cond; apply: eq_bigl => -[k i]; apply: andb_id2l => ki_listed.
  have /andP[kK iN] := known _ ki_listed.
  by rewrite (kept_uses describes_trees kept_closed ki_listed) acquired_has.
transitivity (\sum_(ki <- pairs I | acquired I kept ki.1 ki.2) price I ki.1).
  rewrite -big_filter -[RHS]big_filter; apply: perm_big; apply: uniq_perm; rewrite ?filter_uniq ?pairs_uniq // => -[k i].
  rewrite !mem_filter; apply: andb_id2l => /= ki_used.
  apply/idP/idP => [/known|]; rewrite mem_pairs // => /andP[kK iN].
  by move: ki_used; rewrite acquired_has // => /hasP[h _ /andP[_]]; apply: used_listed.
rewrite big_mkcond big_allpairs -[in iota 0 K](subn0 K) -/(index_iota 0 K) big_mkord; apply: eq_bigr => k _.
rewrite -[in iota 0 N](subn0 N) -/(index_iota 0 N) big_mkord; apply: eq_bigr => i _ /=.
by rewrite mul1r; case: acquired; rewrite ?mul1r ?mul0r.
Qed.

(** What the checker finds optimal among its prunings is optimal for the program, and for its relaxation. *)
Theorem optimal_for_the_program p q kept : Z.le 0 p -> pruning I kept ->
  checker.optimal p q prices G (forest_pruning kept (trees I)) ->
  forall s, feasible I s -> weighted I (number q) (number p) (point_of I kept) <= weighted I (number q) (number p) s.
Proof.
move=> p_ge0 kept_pruning [_ least] s s_feasible.
have [kept' kept'_pruning] := rounding well_formed_I (number q) (number_ge0 R p_ge0) s_feasible.
apply: le_trans; have scaled k : pruning I k -> weighted I (number q) (number p) (point_of I k)
    = number (checker.objective p q prices G (forest_pruning k (trees I))).
  by move=> k_pruning; rewrite /weighted -same_errors // -same_costs // -!numberM -numberD.
rewrite !scaled //; apply/number_le/least/pruning_fits => //.
exact/closed_pruning.
Qed.

(** So what [check_pruning] accepts is a pruning that no point of the relaxation beats. *)
Theorem checked_for_the_program p q : checker.check_pruning p q prices G = true ->
  exists2 kept, pruning I kept & forest_pruning kept (trees I) = checker.kept_part G
    /\ forall s, feasible I s ->
       weighted I (number q) (number p) (point_of I kept) <= weighted I (number q) (number p) s.
Proof.
move=> checked; have p_ge0 : Z.le 0 p.
  by move: checked; rewrite /checker.check_pruning !Bool.andb_true_iff Z.leb_le => -[[[[[[[[]]]]]]]].
have [fits_G _] := checker.check_pruning_optimal _ _ _ _ checked.
have [kept _ [/closed_pruning kept_pruning same]] := pruning_of_checker describes_trees distinct fits_G.
exists (mem kept) => //; split=> //; apply: optimal_for_the_program => //.
by rewrite same; exact: (checker.check_pruning_optimal _ _ _ _ checked).
Qed.

End Agreement.
End Correspondence.

Print Assumptions same_errors.
Print Assumptions same_costs.
Print Assumptions optimal_for_the_program.
Print Assumptions checked_for_the_program.
