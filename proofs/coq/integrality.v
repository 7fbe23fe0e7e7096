(** * Integrality: the relaxation is exact

    From any point of the relaxation, cut the values x_h = 1 - (the sum of z over p(h)) at a threshold theta in
    (0, 1]: x falls down the tree, so {h : x_h >= theta} is a pruning.  Averaged over theta, its objective is at
    most the relaxation's; as only finitely many values occur, the average is a finite sum, and some theta is as
    good as the average. *)

Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect all_algebra.
From IpForest Require Import forest program.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Some threshold is as good as the average *)

Section Threshold.

Variable R : realFieldType.
Implicit Types (theta v bound : R) (thresholds : seq R) (f : R -> R).

(** 1 where the threshold is reached, 0 elsewhere. *)
Definition step theta v : R := (theta <= v)%R%:R.

(** The integral from [start] of the function that is [f b] on the piece that ends at the threshold [b]. *)
Fixpoint layers start thresholds f : R :=
  if thresholds is b :: thresholds' then (b - start) * f b + layers b thresholds' f else 0.

Lemma layers_sum (J : Type) (js : seq J) (c : J -> R) (g : J -> R -> R) start thresholds :
  layers start thresholds (fun theta => \sum_(j <- js) c j * g j theta)
  = \sum_(j <- js) c j * layers start thresholds (g j).
Proof.
elim: thresholds start => [|b thresholds IH] start /=; first by rewrite big1 // => j _; rewrite mulr0.
rewrite IH mulr_sumr -big_split; apply: eq_bigr => j _ /=.
by rewrite mulrDr mulrCA.
Qed.

Lemma layers_above start thresholds v :
  path <%R start thresholds -> v <= start -> layers start thresholds (step^~ v) = 0.
Proof.
elim: thresholds start => //= b thresholds IH start /andP[start_b sorted_b] v_start.
have v_b := le_lt_trans v_start start_b.
by rewrite /step leNgt v_b mulr0 add0r IH // ltW.
Qed.

Lemma layers_step start thresholds v : path <%R start thresholds -> v \in start :: thresholds ->
  layers start thresholds (step^~ v) = v - start.
Proof.
elim: thresholds start => [|b thresholds IH] start.
  by rewrite inE => _ /eqP->; rewrite subrr.
rewrite inE => sorted_start /orP[/eqP->|vP]; first by rewrite layers_above // subrr.
move: sorted_start => /= /andP[start_b sorted_b].
rewrite IH // addrC; suff b_v : b <= v by rewrite /step b_v mulr1 addrA subrK.
move: vP; rewrite inE => /orP[/eqP->//|v_later].
exact/ltW/(allP (order_path_min lt_trans sorted_b)).
Qed.

Lemma layers_bound start thresholds f bound : thresholds != [::] -> path <%R start thresholds ->
  {in thresholds, forall theta, bound < f theta} ->
  bound * (last start thresholds - start) < layers start thresholds f.
Proof.
elim: thresholds start => // b thresholds IH start _ /= /andP[start_b sorted_b] f_large.
have first_layer : bound * (b - start) < (b - start) * f b.
  by rewrite mulrC ltr_pmul2l ?subr_gt0 // f_large ?mem_head.
have [->|more] := eqVneq thresholds [::]; first by rewrite /= addr0.
have -> : last b thresholds - start = (b - start) + (last b thresholds - b) by rewrite [RHS]addrC subrKA.
rewrite mulrDr ltr_add // IH // => theta theta_in.
by rewrite f_large // inE theta_in orbT.
Qed.

Theorem some_threshold (terms : seq (R * R)) : {in terms, forall cv, 0 <= cv.2 <= 1} ->
  exists2 theta, 0 < theta <= 1 &
    \sum_(cv <- terms) cv.1 * step theta cv.2 <= \sum_(cv <- terms) cv.1 * cv.2.
Proof.
move=> in_box; set average := \sum_(cv <- terms) cv.1 * cv.2.
pose values := sort <=%R (undup [seq v <- [seq cv.2 | cv <- terms] | 0 < v < 1]).
have valuesP v : (v \in values) = (0 < v < 1) && (v \in [seq cv.2 | cv <- terms]).
  by rewrite mem_sort mem_undup mem_filter.
have sorted_values : path <%R 0 (rcons values 1).
  rewrite rcons_path path_sortedE; last exact: lt_trans.
  rewrite sort_lt_sorted undup_uniq andbT; apply/andP; split.
    by apply/allP=> v; rewrite valuesP => /andP[/andP[]].
  have := mem_last 0 values; rewrite inE => /orP[/eqP->|]; first exact: ltr01.
  by rewrite valuesP => /andP[/andP[]].
pose total theta := \sum_(cv <- terms) cv.1 * step theta cv.2.
have layers_total : layers 0 (rcons values 1) total = average.
  rewrite layers_sum; apply: eq_big_seq => cv cvP; congr (_ * _).
  rewrite layers_step ?subr0 // inE mem_rcons inE valuesP map_f // andbT.
  by case/andP: (in_box _ cvP); rewrite !le_eqVlt eq_sym => /orP[->|->] // /orP[->|->]; rewrite ?orbT.
have [/hasP[theta theta_in good]|/hasPn bad] := boolP (has (fun theta => total theta <= average) (rcons values 1)).
  exists theta => //; move: theta_in; rewrite mem_rcons inE valuesP => /orP[/eqP->|/andP[/andP[-> /ltW->]]] //.
  by rewrite ltr01 lexx.
have nonempty : rcons values 1 != [::] by case: (values).
have above : {in rcons values 1, forall theta, average < total theta} by move=> theta /bad; rewrite -ltNge.
have := layers_bound nonempty sorted_values above.
by rewrite last_rcons subr0 mulr1 layers_total ltxx.
Qed.

End Threshold.

(** ** Prunings are 0-1 points of the program *)

Section Programme.

Variables (R : realFieldType) (I : instance R).
Hypothesis well_formed_I : well_formed I.

Local Notation F := (trees I).
Local Notation T := (size F).
Local Notation J := (asks I).
Local Notation K := (units I).
Local Notation N := (examples I).
Local Notation p := (path_to F).
Local Notation distinct := (distinct_nodes well_formed_I).

Implicit Types (s : point R) (kept : pred nat).

(** x_h, which is 1 when h stays an internal node. *)
Definition x s h : R := 1 - \sum_(u <- p h) z s u.

Lemma first_use_node t k i u : (t < J)%N -> (k < K)%N -> (i < N)%N -> first_use I t k i = Some u -> u \in nodes F.
Proof. by move=> tT kK iN /(first_use_internal well_formed_I tT kK iN); rewrite mem_filter => /andP[]. Qed.

Lemma mem_own_path h : h \in nodes F -> h \in p h.
Proof. by move=> /(path_toE distinct)[q -> _]; rewrite mem_rcons mem_head. Qed.

(** To be a pruning it is enough that no leaf is kept and that parents are. *)
Lemma pruning_of_edges kept : {in leaves F, forall h, ~~ kept h} ->
  (forall a c, (a, c) \in edges F -> kept c -> kept a) -> pruning I kept.
Proof.
move=> no_leaf parents; split=> // h h_node; have [h_path <-] := path_toP distinct h_node.
rewrite (path_to_last distinct h_path); elim/last_ind: (p h) h_path => // q c IH qc_F.
rewrite last_rcons all_rcons => c_kept; rewrite c_kept /=.
have [->//|q_F] := root_paths_rcons qc_F.
have q_nonempty : q != [::] by apply: contraTneq q_F => ->; apply: nil_notin_root_paths.
by apply: IH => //; apply: parents c_kept; apply: edge_of_path.
Qed.

Lemma only_unkept kept q h :
  ([seq u <- rcons q h | ~~ kept u] == [:: h]) = all kept q && ~~ kept h.
Proof.
rewrite filter_rcons; case: (boolP (kept h)) => kept_h; last first.
  rewrite andbT /= -[[:: h]]/(rcons [::] h) eqseq_rcons eqxx andbT -size_eq0 size_filter.
  by rewrite -leqn0 leqNgt -has_count has_predC negbK.
rewrite andbF; apply/negP => /eqP only_h.
have : h \in [seq u <- q | ~~ kept u] by rewrite only_h mem_head.
by rewrite mem_filter kept_h.
Qed.

Lemma z_point_of kept q h : h \in nodes F -> p h = rcons q h ->
  z (point_of I kept) h = (all kept q && ~~ kept h)%:R.
Proof. by move=> _ p_h; rewrite /= p_h only_unkept. Qed.

(** The node variables of a path add up to 1 unless the whole path is kept. *)
Lemma sum_point_of kept q :
  q \in root_paths F -> \sum_(u <- q) z (point_of I kept) u = 1 - (all kept q)%:R.
Proof.
elim/last_ind: q => [|q h IH] qP; first by case/negP: (nil_notin_root_paths F).
have p_h := path_to_prefix distinct qP.
have h_node : h \in nodes F by apply: mem_root_paths qP _; rewrite mem_rcons mem_head.
rewrite -cats1 big_cat big_seq1 all_cat (z_point_of kept h_node p_h) /= andbT.
have -> : \sum_(u <- q) z (point_of I kept) u = 1 - (all kept q)%:R.
  by case: (root_paths_rcons qP) => [->|/IH //]; rewrite big_nil subrr.
by case: (all kept q) (kept h) => -[]; rewrite /= ?subrr ?subr0 ?addr0 ?add0r.
Qed.

Lemma x_point_of kept h : pruning I kept -> h \in nodes F -> x (point_of I kept) h = (kept h)%:R.
Proof.
move=> [_ kept_upwards] h_node; have [hP _] := path_toP distinct h_node.
rewrite /x sum_point_of // opprB addrCA subrr addr0; congr (_%:R); congr nat_of_bool.
by apply/idP/idP => [/allP|]; [apply; apply: mem_own_path | apply: kept_upwards].
Qed.

Theorem point_of_feasible kept : pruning I kept -> feasible_01 I (point_of I kept).
Proof.
move=> kept_pruning; have [kept_internal _] := kept_pruning.
have sum_path h : h \in nodes F -> \sum_(u <- p h) z (point_of I kept) u = 1 - (kept h)%:R.
  by move=> h_node; rewrite -x_point_of // /x opprB addrCA subrr addr0.
have bit (b : bool) : (b%:R == 0 :> R) || (b%:R == 1 :> R) by case: b; rewrite eqxx ?orbT.
have w_bit t k i : ((w_tree (point_of I kept) t k i) == 0) || (w_tree (point_of I kept) t k i == 1).
  by rewrite /=; case: first_use => [u|]; rewrite ?bit ?eqxx.
split; last by split=> * /=; rewrite ?bit ?w_bit.
split=> [h h_leaf|t k i u tT kK iN use|t k i tT kK iN].
- by rewrite sum_path ?leaves_sub_nodes // (negbTE (kept_internal h h_leaf)) subr0.
- by rewrite /= use sum_path ?[_ + (1 - _)]addrC ?subrK //; apply: first_use_node use.
- rewrite /= /acquired; case use: first_use => [u|]; last exact: ler0n.
  rewrite ler_nat; case kept_u: (kept u) => //; rewrite lt0b; apply/existsP.
  by exists (Ordinal tT); rewrite use.
Qed.

(** ** Rounding a point of the relaxation *)

Lemma sum_path_le1 s q : feasible I s -> q \in root_paths F -> 0 <= \sum_(u <- q) z s u <= 1.
Proof.
case=> -[one_leaf _ _] [z_ge0 _ _] qP.
have sum_ge0 r : {subset r <= nodes F} -> 0 <= \sum_(u <- r) z s u.
  by move=> r_nodes; rewrite big_seq sumr_ge0 // => u /r_nodes/z_ge0.
rewrite sum_ge0 /=; last by move=> u; apply: mem_root_paths qP.
have [r qrP] := root_paths_extend qP; have p_leaf := path_to_last distinct qrP => leafP.
have := one_leaf _ leafP; rewrite p_leaf big_cat => <-; rewrite ler_addl sum_ge0 // => u u_r.
by apply: mem_root_paths qrP _; rewrite mem_cat u_r orbT.
Qed.

Lemma x_bounds s h : feasible I s -> h \in nodes F -> 0 <= x s h <= 1.
Proof.
move=> s_feasible /(path_toP distinct)[hP _]; rewrite /x subr_ge0 ler_subl_addr ler_addl.
by rewrite andbC; apply: sum_path_le1.
Qed.

(** With z_h added back, the same at the node above h: 1 above a root. *)
Lemma x_above s h q : p h = rcons q h -> x s h + z s h = 1 - \sum_(u <- q) z s u.
Proof. by rewrite /x => ->; rewrite -cats1 big_cat big_seq1 /= opprD addrA subrK. Qed.

Lemma x_above_bounds s h : feasible I s -> h \in nodes F -> 0 <= x s h + z s h <= 1.
Proof.
move=> s_feasible /(path_toE distinct)[q p_h qP]; rewrite (x_above s p_h) subr_ge0 ler_subl_addr ler_addl.
rewrite andbC; case: qP => [->|qP]; first by rewrite big_nil lexx ler01.
exact: sum_path_le1.
Qed.

(** x falls along every path. *)
Lemma x_falls s q u : feasible I s -> q \in root_paths F -> u \in q -> 1 - \sum_(v <- q) z s v <= x s u.
Proof.
move=> [_ [z_ge0 _ _]]; elim/last_ind: q => // q h IH qP; rewrite mem_rcons inE => /orP[/eqP->|uq].
  by rewrite /x (path_to_prefix distinct qP).
case: (root_paths_rcons qP) uq => [->//|qP' uq]; apply: le_trans (IH qP' uq).
rewrite -cats1 big_cat big_seq1 ler_add2l ler_opp2 ler_addl z_ge0 //.
by apply: mem_root_paths qP _; rewrite mem_rcons mem_head.
Qed.

Definition cut_at s theta : pred nat := fun h => theta <= x s h.

Lemma cut_at_pruning s theta : feasible I s -> 0 < theta -> pruning I (cut_at s theta).
Proof.
move=> s_feasible theta_gt0; split=> h.
  by case: s_feasible => -[one_leaf _ _] _ h_leaf; rewrite /cut_at /x one_leaf // subrr -ltNge.
move=> h_node theta_h; have [hP _] := path_toP distinct h_node.
by apply/allP => u uh; apply: le_trans theta_h (x_falls s_feasible hP uh).
Qed.

Lemma z_cut_at s theta h : feasible I s -> theta <= 1 -> h \in nodes F ->
  z (point_of I (cut_at s theta)) h = step theta (x s h + z s h) - step theta (x s h).
Proof.
move=> s_feasible theta_le1 h_node; have [q p_h qP] := path_toE distinct h_node.
rewrite (z_point_of _ h_node p_h) (x_above s p_h) /step -/(cut_at s theta h).
have -> : all (cut_at s theta) q = (theta <= 1 - \sum_(u <- q) z s u).
  case: qP => [->|qP]; first by rewrite big_nil subr0 theta_le1.
  apply/allP/idP => [all_q|theta_q u uq]; last exact: le_trans theta_q (x_falls s_feasible qP uq).
  case/lastP: q {p_h} qP all_q => [|q g] qP all_q; first by case/negP: (nil_notin_root_paths F).
  have := all_q g; rewrite mem_rcons mem_head => /(_ isT).
  by rewrite /cut_at /x (path_to_prefix distinct qP).
have falls : cut_at s theta h -> theta <= 1 - \sum_(u <- q) z s u.
  move=> theta_h; apply: le_trans theta_h _; rewrite -(x_above s p_h) ler_addl.
  by case: s_feasible => _ [/(_ h h_node)].
by move: falls; case: (cut_at s theta h) => [->|_]; rewrite //= ?andbT ?andbF ?subrr ?subr0.
Qed.

Lemma acquired_cut_at s theta k i : feasible I s -> (k < K)%N -> (i < N)%N ->
  acquired I (cut_at s theta) k i -> theta <= w s k i.
Proof.
move=> [[_ usage shared] _] kK iN /existsP[t]; case use: first_use => [u|//] theta_u.
have := usage t k i u (ltn_ord t) kK iN use => w_u.
apply: le_trans (shared t k i (ltn_ord t) kK iN); apply: le_trans theta_u _.
by rewrite /x -w_u addrK.
Qed.

Section Weights.

(** The objective with any weight on the errors and a weight that is not negative on the costs. *)
Variables on_errors on_costs : R.
Hypothesis on_costs_ge0 : 0 <= on_costs.

Definition weighted s := on_errors * errors I s + on_costs * costs I s.

Definition node_weight h := on_errors * error I h + on_costs * (split_price I * (visits I h * (depth F h)%:R)).
Definition usage_weight (ki : 'I_K * 'I_N) := on_costs * price I ki.1.

Lemma weightedE s : weighted s =
  \sum_(h <- nodes F) node_weight h * z s h + \sum_(ki : 'I_K * 'I_N) usage_weight ki * w s ki.1 ki.2.
Proof.
rewrite /weighted /costs mulrDr addrA addrAC; congr (_ + _).
  by rewrite /errors !mulr_sumr -big_split; apply: eq_bigr => h _ /=; rewrite mulrDl !mulrA.
rewrite -(pair_bigA _ (fun k i => usage_weight (k, i) * w s k i)) mulr_sumr; apply: eq_bigr => k _.
by rewrite /usage_weight mulrA mulr_sumr.
Qed.

Lemma usage_weight_ge0 ki : 0 <= usage_weight ki.
Proof. by rewrite mulr_ge0 // (price_nonnegative well_formed_I). Qed.

Theorem rounding s : feasible I s ->
  exists2 kept, pruning I kept & weighted (point_of I kept) <= weighted s.
Proof.
move=> s_feasible; have [_ [z_ge0 _ w_ge0]] := s_feasible.
pose capped (ki : 'I_K * 'I_N) := Num.min (w s ki.1 ki.2) 1.
pose terms := [seq (node_weight h, x s h + z s h) | h <- nodes F]
  ++ [seq (- node_weight h, x s h) | h <- nodes F]
  ++ [seq (usage_weight ki, capped ki) | ki : 'I_K * 'I_N].
have sum_terms f : \sum_(cv <- terms) cv.1 * f cv.2 =
    \sum_(h <- nodes F) node_weight h * (f (x s h + z s h) - f (x s h)) + \sum_ki usage_weight ki * f (capped ki).
  rewrite !big_cat big_image !big_map /= addrA -big_split; congr (_ + _).
  by apply: eq_bigr => h _ /=; rewrite mulrBr mulNr.
have in_box : {in terms, forall cv, 0 <= cv.2 <= 1}.
  move=> cv; rewrite !mem_cat => /or3P[/mapP[h hF ->]|/mapP[h hF ->]|/imageP[[k i] _ ->]] /=.
  - exact: x_above_bounds.
  - exact: x_bounds.
  - by rewrite le_minr le_minl lexx orbT ler01 w_ge0.
have [theta /andP[theta_gt0 theta_le1]] := some_threshold in_box.
rewrite (sum_terms (step theta)) (sum_terms id) => threshold_good.
exists (cut_at s theta); first exact: cut_at_pruning.
have -> : weighted (point_of I (cut_at s theta)) =
    \sum_(h <- nodes F) node_weight h * (step theta (x s h + z s h) - step theta (x s h))
    + \sum_ki usage_weight ki * (acquired I (cut_at s theta) ki.1 ki.2)%:R.
  by rewrite weightedE; congr (_ + _); apply: eq_big_seq => h h_node; rewrite z_cut_at.
apply: le_trans (le_trans threshold_good _).
  rewrite ler_add2l ler_sum // => -[k i] _; rewrite ler_wpmul2l ?usage_weight_ge0 // /step ler_nat /=.
  case used: (acquired _ _ _ _) => //; rewrite lt0b le_minr theta_le1 andbT.
  exact: acquired_cut_at used.
rewrite weightedE ler_add //; last first.
  by rewrite ler_sum // => ki _; rewrite ler_wpmul2l ?usage_weight_ge0 // le_minl lexx.
by rewrite le_eqVlt; apply/orP; left; apply/eqP/eq_bigr => h _; rewrite [x s h + _]addrC addrK.
Qed.

End Weights.

(** ** The 0-1 points of the program are the prunings *)

Theorem feasible_01_is_pruning s : feasible_01 I s -> exists2 kept, pruning I kept &
  [/\ forall h, h \in nodes F -> z s h = z (point_of I kept) h,
      forall t k i u, (t < J)%N -> (k < K)%N -> (i < N)%N -> first_use I t k i = Some u ->
        w_tree s t k i = w_tree (point_of I kept) t k i
    & forall k i, (k < K)%N -> (i < N)%N -> w (point_of I kept) k i <= w s k i].
Proof.
move=> [s_constraints [z_bit wt_bit w_bit]].
have bit_ge0 (v : R) : (v == 0) || (v == 1) -> 0 <= v by case/orP=> /eqP->; rewrite ?ler01.
have s_feasible : feasible I s by split=> //; split=> * /=; auto.
have step1 (v : R) : (v == 0) || (v == 1) -> step 1 v = v.
  by case/orP=> /eqP->; rewrite /step ?lexx // lt_geF ?ltr01.
have x_bit h : h \in nodes F -> (x s h == 0) || (x s h == 1).
  move=> h_node; have [hP _] := path_toP distinct h_node.
  have [m sum_m] : exists m : nat, \sum_(u <- p h) z s u = m%:R.
    elim: (p h) (@mem_root_paths F (p h) ^~ hP) => [|u q IH] q_nodes.
      by exists 0%N; rewrite big_nil.
    have [|m sum_q] := IH; first by move=> v vq; rewrite q_nodes // inE vq orbT.
    have /orP[/eqP z_u|/eqP z_u] := z_bit u (q_nodes u (mem_head _ _)); rewrite big_cons sum_q z_u.
      by exists m; rewrite add0r.
    by exists m.+1; rewrite mulrS.
  have := sum_path_le1 s_feasible hP; rewrite /x sum_m => /andP[_]; rewrite lern1.
  by case: m {sum_m} => [|[|//]] _; rewrite ?subr0 ?subrr eqxx ?orbT.
have kept_x h : h \in nodes F -> (cut_at s 1 h)%:R = x s h by move=> /x_bit/step1.
exists (cut_at s 1); first exact: cut_at_pruning.
split=> [h h_node|t k i u tT kK iN use|k i kK iN].
- rewrite z_cut_at // [step 1 (x s h)]step1 ?x_bit // step1; first by rewrite addrC addKr.
  have := x_above_bounds s_feasible h_node; case/orP: (x_bit h h_node) => /eqP->.
    by rewrite add0r z_bit.
  by case/orP: (z_bit h h_node) => /eqP->; rewrite ?addr0 ?eqxx ?orbT // ger_addl ler10 andbF.
- have u_node := first_use_node tT kK iN use; rewrite /= use kept_x // /x.
  by case: s_constraints => _ /(_ t k i u tT kK iN use) <- _; rewrite addrK.
- rewrite /=; case used: (acquired _ _ _ _); last exact/bit_ge0/w_bit.
  exact: acquired_cut_at used.
Qed.

(** ** There are finitely many prunings *)

Lemma least_of (A : eqType) (f : A -> R) (l : seq A) a : a \in l ->
  exists2 b, b \in l & {in l, forall c, f b <= f c}.
Proof.
elim: l a => // a l IH _ _; case: l IH => [_|a' l IH].
  by exists a => [|c]; rewrite inE // => /eqP->.
have [b b_l b_least] := IH a' (mem_head _ _).
have [a_b|/ltW b_a] := leP (f a) (f b); [exists a; first exact: mem_head | exists b; first by rewrite inE b_l orbT].
  by move=> c; rewrite inE => /orP[/eqP->//|/b_least]; apply: le_trans.
by move=> c; rewrite inE => /orP[/eqP->//|/b_least].
Qed.

Lemma same_values kept kept' : {in nodes F, kept =1 kept'} ->
  errors I (point_of I kept) = errors I (point_of I kept') /\ costs I (point_of I kept) = costs I (point_of I kept').
Proof.
move=> same; have same_z h : h \in nodes F -> z (point_of I kept) h = z (point_of I kept') h.
  move=> h_node; congr (_ == _)%:R; apply: eq_in_filter => u u_path.
  by rewrite same //; have [/mem_root_paths-> //] := path_toP distinct h_node.
split; rewrite /errors /costs; first by apply: eq_big_seq => h h_node; rewrite same_z.
congr (_ + _ * _); last by apply: eq_big_seq => h h_node; rewrite same_z.
apply: eq_bigr => k _; congr (_ * _); apply: eq_bigr => i _; congr _%:R; congr nat_of_bool; apply: eq_existsb => t.
by case use: first_use => [u|//]; rewrite same //; apply: first_use_node use.
Qed.

(** The errors and costs of all prunings. *)
Lemma pruning_values : exists values : seq (R * R), forall v,
  v \in values <-> exists2 kept, pruning I kept & v = (errors I (point_of I kept), costs I (point_of I kept)).
Proof.
pose listed (m : (size (nodes F)).-tuple bool) : pred nat := mem (mask m (nodes F)).
pose is_pruning kept :=
  all (predC kept) (leaves F) && all (fun h => kept h ==> all kept (p h)) (nodes F).
have pruningP kept : reflect (pruning I kept) (is_pruning kept).
  apply: (iffP andP) => [[/allP kept_internal /allP kept_upwards]|[kept_internal kept_upwards]].
    by split=> // h /kept_upwards/implyP.
  by split; apply/allP=> h ?; [apply: kept_internal | apply/implyP/kept_upwards].
exists [seq (errors I (point_of I (listed m)), costs I (point_of I (listed m))) | m <- enum predT & is_pruning (listed m)].
move=> v; split=> [/mapP[m]|[kept kept_pruning ->]].
  by rewrite mem_filter => /andP[/pruningP m_pruning _] ->; exists (listed m).
pose m := [tuple of map kept (in_tuple (nodes F))].
have m_kept : {in nodes F, listed m =1 kept}.
  by move=> h h_node; rewrite /listed /= -filter_mask mem_filter h_node andbT.
have [<- <-] := same_values m_kept; apply/mapP; exists m => //.
rewrite mem_filter mem_enum andbT; apply/pruningP.
case: kept_pruning => kept_internal kept_upwards; split=> h h_in.
  by rewrite m_kept ?kept_internal ?leaves_sub_nodes.
rewrite m_kept // => /(kept_upwards h h_in)/allP kept_path; apply/allP => u u_path.
by rewrite m_kept ?kept_path //; have [/mem_root_paths-> //] := path_toP distinct h_in.
Qed.

(** ** Main theorems *)

Section Objective.

Variable lambda : R.
Hypothesis lambda_ge0 : 0 <= lambda.

Lemma objective_weighted s :
  objective I lambda s = weighted (error_examples I * T)%:R^-1 (lambda * N%:R^-1) s.
Proof. by rewrite /weighted -mulrA. Qed.

Lemma cost_weight_ge0 : 0 <= lambda * N%:R^-1.
Proof. by rewrite mulr_ge0 // invr_ge0 ler0n. Qed.

(** Every point of the relaxation has a pruning of no larger objective. *)
Theorem pruning_no_worse s : feasible I s ->
  exists2 kept, pruning I kept & objective I lambda (point_of I kept) <= objective I lambda s.
Proof.
case/(rounding (error_examples I * T)%:R^-1 cost_weight_ge0) => kept kept_pruning.
by rewrite -!objective_weighted; exists kept.
Qed.

(** Every point of the relaxation has a 0-1 point of no larger objective. *)
Theorem integrality s : feasible I s ->
  exists2 s01, feasible_01 I s01 & objective I lambda s01 <= objective I lambda s.
Proof. by case/pruning_no_worse=> kept /point_of_feasible; exists (point_of I kept). Qed.

Lemma feasible_01_box s : feasible_01 I s -> feasible_box I s.
Proof.
have bit_box (v : R) : (v == 0) || (v == 1) -> 0 <= v <= 1.
  by case/orP=> /eqP->; rewrite ?lexx ?ler01.
by case=> s_constraints [z_bit wt_bit w_bit]; split=> //; split=> *; apply: bit_box; auto.
Qed.

Lemma feasible_box_nonnegative s : feasible_box I s -> feasible I s.
Proof.
case=> s_constraints [z_box wt_box w_box]; split=> //.
by split=> [h /z_box|t k i tT kK /(wt_box t k i tT kK)|k i kK /(w_box k i kK)] /andP[].
Qed.

(** The same for the relaxation to [0, 1]. *)
Corollary integrality_box s : feasible_box I s ->
  exists2 s01, feasible_01 I s01 & objective I lambda s01 <= objective I lambda s.
Proof. by move/feasible_box_nonnegative/integrality. Qed.

(** The 0-1 program and its relaxations have the same lower bounds. *)
Corollary relaxation_exact bound :
  (forall s, feasible_01 I s -> bound <= objective I lambda s)
  <-> (forall s, feasible I s -> bound <= objective I lambda s).
Proof.
split=> bound_ok s; last by move/feasible_01_box/feasible_box_nonnegative/bound_ok.
by case/integrality=> s01 /bound_ok bound_s01; apply: le_trans.
Qed.

(** The minimum of the relaxation is attained, and it is attained by a pruning. *)
Theorem optimal_pruning_exists : exists2 kept, pruning I kept &
  forall s, feasible I s -> objective I lambda (point_of I kept) <= objective I lambda s.
Proof.
pose value (v : R * R) := (error_examples I * T)%:R^-1 * v.1 + lambda * (N%:R^-1 * v.2).
have [values valuesP] := pruning_values.
have none : (errors I (point_of I pred0), costs I (point_of I pred0)) \in values by apply/valuesP; exists pred0.
have [v /valuesP[kept kept_pruning v_kept] v_least] := least_of value none.
exists kept => // s /pruning_no_worse[kept' kept'_pruning]; apply: le_trans.
have := v_least (errors I (point_of I kept'), costs I (point_of I kept')).
by rewrite v_kept; apply; apply/valuesP; exists kept'.
Qed.

End Objective.
End Programme.

Print Assumptions point_of_feasible.
Print Assumptions feasible_01_is_pruning.
Print Assumptions integrality.
Print Assumptions integrality_box.
Print Assumptions relaxation_exact.
Print Assumptions optimal_pruning_exists.
