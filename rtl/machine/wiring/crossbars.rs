//! # The crossbars
//! Those of requests and replies, and those beside them, with the channel ends that they are lent for an edge.

use super::Machine;
use crate::kernel::{AnyEdge, Block, Describe, DescribeExt, Due, Edge, RxBank, Sleep, TxBank};
use crate::machine::side_network::RecallNetwork;
use crate::noc::xbar::XbarIo;

impl Machine {
    fn eval_request_xbar(&mut self, at: &mut impl AnyEdge) -> Sleep {
        let io = XbarIo { from: RxBank(&mut self.inject), to: TxBank(&mut self.to_l2) };
        self.request_xbar.eval_any(io, at)
    }

    fn eval_reply_xbar(&mut self, at: &mut impl AnyEdge) -> Sleep {
        let io = XbarIo { from: RxBank(&mut self.from_l2), to: TxBank(&mut self.deliver) };
        self.reply_xbar.eval_any(io, at)
    }

    /// Evaluates the crossbars that are due.
    #[inline(always)]
    pub(super) fn eval_xbars<const SCHEMES: bool>(&mut self, due: &mut Due, at: &mut impl AnyEdge) {
        due.alone(0, at, |at| self.eval_request_xbar(at));
        due.alone(1, at, |at| self.eval_reply_xbar(at));
        if SCHEMES {
            at.with_edge(|at| self.eval_side_xbars(due, at));
        }
    }

    /// Those of recalls and forwards.
    fn eval_side_xbars(&mut self, due: &mut Due, at: &mut Edge<'_>) {
        if let Some(recalls) = &mut self.recalls {
            due.alone(2, at, |at| recalls.eval_wishes(at));
            due.alone(3, at, |at| recalls.eval_answers(at));
        }
        if let Some(tracking) = &mut self.tracking {
            due.alone(4, at, |at| tracking.network.eval_wishes(at));
            due.alone(5, at, |at| tracking.network.eval_answers(at));
        }
    }

    pub(super) fn describe_recalls(
        &self,
        name: &'static str,
        list: fn(&RecallNetwork, &mut dyn Describe),
        to: &mut dyn Describe,
    ) {
        if let Some(recalls) = &self.recalls {
            to.part(name, |to| list(recalls, to));
        }
    }

    pub(super) fn describe_request_xbar(&self, to: &mut dyn Describe) {
        to.part("xbar_req", |to| {
            for (i, inject) in (0..).zip(&self.inject) {
                inject.describe("inject", Some(i), to);
            }
            self.request_xbar.describe(to);
        });
    }

    pub(super) fn describe_reply_xbar(&self, to: &mut dyn Describe) {
        to.part("xbar_rsp", |to| {
            let (from_l2, supplies) = self.from_l2.split_at(self.to_l2.len());
            for (i, from) in (0..).zip(from_l2) {
                from.describe("from_l2_", Some(i), to);
            }
            for (i, supply) in (0..).zip(supplies) {
                supply.describe("supply", Some(i), to);
            }
            self.reply_xbar.describe(to);
        });
    }

    pub(super) fn describe_forward_xbar(&self, to: &mut dyn Describe) {
        if let Some(tracking) = &self.tracking {
            to.part("xbar_fwd", |to| tracking.network.describe_wishes(to));
        }
    }

    pub(super) fn describe_answer_xbar(&self, to: &mut dyn Describe) {
        if let Some(tracking) = &self.tracking {
            to.part("xbar_ans", |to| tracking.network.describe_answers(to));
        }
    }
}
