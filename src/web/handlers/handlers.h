/* The handlers of routes.def. */
#pragma once

#include "web/web.h"

/* Answers with the output of the command of the route, see run_command.h. */
web_handler web_run_command;

web_handler web_health;
web_handler web_session;
web_handler web_link;
web_handler web_login_page;
web_handler web_login;
web_handler web_logout;
web_handler web_share;
web_handler web_metrics;
web_handler web_openapi;

web_handler web_jobs;
web_handler web_tiles;
web_handler web_job;
web_handler web_job_page;
web_handler web_export;
web_handler web_live;
web_handler web_running;

web_handler web_inbox;
web_handler web_inbox_retry;

web_handler web_schema;
web_handler web_sql;

web_handler web_put_tags;
web_handler web_put_annotations;
web_handler web_create_model;
web_handler web_train_model;
web_handler web_model_features;
web_handler web_acknowledge;
