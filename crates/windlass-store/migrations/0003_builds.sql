-- Asked for by whoever looks at one task.

CREATE INDEX build_by_task ON build (data ->> '$.task', seq);
