-- A database as version 1 left it, with a row of another crate's table.
INSERT INTO task VALUES (1, '1.1', 1, 'DISPATCHED', 1, 1, NULL, 100, 100, '{"id":"1.1","issue":1,"title":"Say hello","branch":"windlass/1","state":{"state":"dispatched"},"since":100,"session":"dev-1.1-1","sessions":1,"reviews":0,"base":null,"change":null,"pushed":null,"retries":0,"tally":{"active":0,"cost_micro_usd":0,"critic_rounds":0,"ci_fixes":0,"ci_infra":0,"nudges":0,"no_verdicts":0,"conflicts":0,"restarts":[]},"findings":[],"effects":0,"counted_at":100}');
INSERT INTO event (at, task, issue, kind, data) VALUES (100, '1.1', 1, 'task_claimed', '{"kind":"task_claimed","title":"Say hello","branch":"windlass/1","session":"dev-1.1-1"}');
INSERT INTO effect (key, owner, lane, kind, args, status, attempt, not_before, epoch, created_at) VALUES ('1.1/1', '1.1', 'work', 'make_workspace', '{"effect":"make_workspace","branch":"windlass/1"}', 'intent', 0, 100, 3, 100);
INSERT INTO lease VALUES ('daemon', 'old', 3, 100);
INSERT INTO command (at, by, data, status, answer) VALUES (90, 'ann', '{"command":"pause"}', 'done', '{"answer":"done","what":"paused"}');
INSERT INTO command (at, by, data, status) VALUES (95, 'ann', '{"command":"resume"}', 'waiting');
CREATE TABLE forge_meta (id INTEGER PRIMARY KEY, last_number INTEGER NOT NULL);
INSERT INTO forge_meta VALUES (1, 7);
