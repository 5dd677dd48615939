//! The work of a hub once a second: pings, dead peers, expired tokens, write timeouts, and peers that do not answer a
//! close frame.

use super::SessionHub;
use crate::protocol::codes::CloseCode;
use crate::session::life_log::ClosedBy;
use crate::session::{CheckLiveness, CheckWriteProgress, Close};
use std::time::{SystemTime, UNIX_EPOCH};

impl SessionHub {
    /// Does the work of one second, or of several if the tick was late.
    pub(super) fn tick(&mut self) {
        self.read_clock();
        let now = self.ctx.now;
        // Late ticks arrive in a burst. Each second is handled once and none is skipped.
        let first = now.saturating_sub(self.ctx.settings.ping_seconds).max(self.checked_until);
        self.checked_until = now;
        for second in first..now {
            self.check_liveness(second + 1);
        }
        self.end_expired();
        while let Some(session) = self.write_deadlines.pop_due(now.into()) {
            self.with(session, CheckWriteProgress);
        }
        while let Some(session) = self.closing_deadlines.pop_due(now.into()) {
            if let Some(found) = self.sessions.find(session) {
                found.reset_on_drop();
            }
            self.end(session);
        }
    }

    /// Seconds since the hub started, as the sessions of this turn see them.
    pub(super) fn read_clock(&mut self) {
        self.ctx.now = u32::try_from(self.started_at.elapsed().as_secs()).unwrap_or(u32::MAX);
    }

    /// Each session gets one ping and two checks per interval, spread evenly over the seconds of the interval.
    fn check_liveness(&mut self, second: u32) {
        let interval = self.ctx.settings.ping_seconds;
        if interval == 0 {
            return;
        }
        let phase = second % interval;
        let half = (phase + interval / 2) % interval;
        for (first, sends_ping) in [(phase, true), (half, false)] {
            if !sends_ping && half == phase {
                continue;
            }
            for slot in (first..self.sessions.end()).step_by(interval as usize) {
                if let Some(session) = self.sessions.at(slot) {
                    self.with(session, CheckLiveness { sends_ping });
                }
            }
        }
    }

    fn end_expired(&mut self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        while let Some(session) = self.expiry.pop_due(now) {
            let Some(found) = self.sessions.find(session) else { continue };
            let expires_at = found.schedule_expiry();
            if expires_at > now {
                self.expiry.insert(expires_at, session);
            } else {
                self.with(session, Close { code: CloseCode::TokenRefused, by: ClosedBy::TokenExpiry });
            }
        }
        let sessions = &self.sessions;
        self.expiry.sweep(sessions.len(), |session| sessions.holds(session));
        self.write_deadlines.sweep(sessions.len(), |session| sessions.holds(session));
    }
}
