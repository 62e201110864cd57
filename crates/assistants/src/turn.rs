//! The state of a turn, the same for all graphs: what was asked, what was found, what is said.

use std::borrow::Cow;
use std::collections::BTreeSet;

use ibid_core::answer::{Intent, PlanStep, Route, SearchRequest, Warning};
use ibid_core::cache::{CachedAnswer, CachedFrom};
use ibid_core::evidence::Passage;
use ibid_core::model::Usage;
use ibid_core::research::{Grade, ResearchRound};
use ibid_core::web::WebPage;
use ibid_core::{Focus, Message, Role, RunId, Scope, TurnInput};
use ibid_graph::{InvalidInput, State};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cache::CacheUse;
use crate::concierge::{ConciergeState, ConciergeUpdate};
use crate::definition::{Definition, ForcedIntent, GraphKind, Links};
use crate::format::{Draft, inert, inert_fields};
use crate::guard::{Policy, VerifiedAnswer};
use crate::language::{Spoken, Texts};
use crate::research::{GroundingReport, ResearchState};
use crate::route::{mentions, smalltalk};
use crate::source::{Origin, Source, add_after, harmless, take, take_after};
pub(crate) use crate::tool_use::{Call, ToolReport, ToolRound, describe_call};

/// What was asked, and how it is to be answered.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TurnRequest {
    /// What may be read to answer it.
    pub(crate) scope: Scope,
    /// The window of earlier messages.
    pub(crate) history: Vec<Message>,
    /// What the person says.
    pub(crate) text: String,
    /// On which graph.
    pub(crate) graph: GraphKind,
    /// What the person wants, if that is said.
    pub(crate) intent: Option<ForcedIntent>,
    /// In which format, by name.
    pub(crate) format: String,
    /// In which language the conversation is.
    pub(crate) spoken: Spoken,
    /// Whether nothing may be said that was not checked.
    pub(crate) only_checked: bool,
    /// What becomes of links and images in what is said.
    pub(crate) links: Links,
    /// Whether a first question is put in several ways, too.
    pub(crate) rephrase_first: bool,
    /// Whether an answer that was given before may be given again.
    pub(crate) may_be_cached: bool,
    /// The turn.
    pub(crate) run: RunId,
}

/// What a turn has taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TurnCost {
    /// Tokens.
    pub(crate) usage: Usage,
    /// Calls of models.
    #[serde(default)]
    pub(crate) calls: u32,
    /// Time in steps that count, in milliseconds.
    pub(crate) milliseconds: u64,
}

impl TurnCost {
    /// Together with what another step took.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            usage: self.usage.and(other.usage),
            calls: self.calls + other.calls,
            milliseconds: self.milliseconds + other.milliseconds,
        }
    }
}

/// What a turn ends with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// What is said.
    pub(crate) text: String,
    /// In fields, if a form with fields was asked for.
    pub(crate) structured: Option<Value>,
    /// What the guard made of it.
    pub(crate) checked: VerifiedAnswer,
    /// Whether the documents did not hold it.
    pub(crate) unanswered: bool,
    /// Whether it was withheld.
    pub(crate) withheld: bool,
}

/// A turn as far as it has come.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TurnState {
    /// What was asked.
    pub(crate) request: TurnRequest,
    /// The question by itself.
    pub(crate) question: String,
    /// Where the router sent it.
    pub(crate) route: Option<Route>,
    /// Other ways to put it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) phrasings: Vec<String>,
    /// What is to be looked for.
    pub(crate) searches: Vec<SearchRequest>,
    /// What was looked for.
    pub(crate) searched: Vec<String>,
    /// What may be cited.
    pub(crate) sources: Vec<Source>,
    /// The plan.
    pub(crate) plan: Vec<PlanStep>,
    /// The tools that are to be called.
    pub(crate) calls: Vec<Call>,
    /// The rounds of tools so far.
    pub(crate) rounds: Vec<ToolRound>,
    /// What went wrong with tools.
    pub(crate) failures: Vec<String>,
    /// The rounds of the graph `corrective`.
    #[serde(skip_serializing_if = "ResearchState::is_empty")]
    pub(crate) research: ResearchState,
    /// What the cache of answers has to do with it.
    #[serde(skip_serializing_if = "CacheUse::is_empty")]
    pub(crate) cache: CacheUse,
    /// What the graph `concierge` found.
    #[serde(skip_serializing_if = "ConciergeState::is_empty")]
    pub(crate) concierge: ConciergeState,
    /// What the model wrote.
    pub(crate) draft: Option<Draft>,
    /// What is wrong with it.
    pub(crate) findings: Vec<Warning>,
    /// How often it was written again.
    pub(crate) repairs: u32,
    /// What it took.
    pub(crate) spent: TurnCost,
    /// What is said in the end.
    pub(crate) answer: Option<Answer>,
}

/// What one step changed. The names are stored and seen by clients, so a variant that was renamed keeps its old one there.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TurnUpdate {
    /// The question by itself.
    Condensed {
        question: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        phrasings: Vec<String>,
        spent: TurnCost,
    },
    /// Where the turn goes.
    Routed { route: Route, question: String, spent: TurnCost },
    /// What is to be looked for.
    Rewritten { question: String, searches: Vec<SearchRequest>, spent: TurnCost },
    /// What was found.
    Retrieved { passages: Vec<Passage>, searched: Vec<String> },
    /// What is to be done, and how the documents begin that the message names.
    Planned {
        plan: Vec<PlanStep>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        beginnings: Vec<Passage>,
        spent: TurnCost,
    },
    /// Which tools are to be called.
    #[serde(rename = "chose")]
    ToolCallsRequested { text: String, calls: Vec<Call>, spent: TurnCost },
    /// Which of them a person did not allow, by their ids.
    ToolCallsAnswered { denied: Vec<String> },
    /// What they gave back.
    #[serde(rename = "called")]
    ToolCallsFinished { results: Vec<ToolReport>, spent: TurnCost },
    /// What the model wrote.
    Drafted { draft: Draft, spent: TurnCost },
    /// What is wrong with it, so that it is written again.
    #[serde(rename = "doubted")]
    Rejected { findings: Vec<Warning> },
    /// Which of the passages are relevant.
    Graded { grades: Vec<Grade>, spent: TurnCost },
    /// Which sentences of a draft the sources support.
    GroundingChecked { report: GroundingReport, spent: TurnCost },
    /// What the checks make of a draft.
    Judged { round: ResearchRound, spent: TurnCost },
    /// Whether a person agrees to a search of the web.
    WebAnswered { agreed: bool },
    /// What a search of the web found, or why it found nothing.
    WebSearched { pages: Vec<WebPage>, query: String, failure: Option<String> },
    /// Another round, with other searches.
    RoundStarted { searches: Vec<SearchRequest>, spent: TurnCost },
    /// No answer was given before that may be given again; the generation of the documents at that moment, if it is known.
    LookedUp { generation: Option<u64> },
    /// What was said before is said again.
    Recalled { answer: Box<CachedAnswer>, text: String, from: CachedFrom },
    /// What is said is kept, to be said again.
    Remembered {},
    /// What a step of the graph `concierge` changed.
    Concierge(ConciergeUpdate),
    /// What is said, with data in a format of its own.
    Presented { answer: Box<Answer>, format: String, sources: Vec<Source>, spent: TurnCost },
    /// What is said.
    Answered { answer: Box<Answer> },
}

impl TurnState {
    /// Begins a turn of an assistant.
    ///
    /// # Errors
    /// Refuses a mode or a format that the assistant does not have.
    pub(crate) fn begin(definition: &Definition, input: TurnInput) -> Result<Self, InvalidInput> {
        let mode = definition.mode(input.options.mode())?;
        let format = definition.format(input.options.format())?.to_owned();
        let said: Vec<&str> = input.messages.iter().map(|message| message.text.trim()).collect();
        let text = said.join("\n");
        let scope = match definition.corpora.as_slice() {
            [] => input.scope,
            corpora => input.scope.within(corpora.iter().cloned()),
        };
        let scope = input.options.narrow(scope)?;
        let (graph, intent) = (mode.graph, mode.intent);
        let spoken = Spoken::of(&input.history, &text);
        let only_checked = definition.guard == Policy::Block;
        let request = TurnRequest {
            only_checked,
            links: definition.links,
            may_be_cached: input.options.may_be_cached(),
            run: input.run,
            rephrase_first: definition.retrieval.rephrase_first && definition.retrieval.phrasings > 1,
            scope,
            history: input.history,
            text: text.clone(),
            graph,
            intent,
            format,
            spoken,
        };
        Ok(Self {
            request,
            question: text,
            route: None,
            phrasings: Vec::new(),
            searches: Vec::new(),
            searched: Vec::new(),
            sources: Vec::new(),
            plan: Vec::new(),
            calls: Vec::new(),
            rounds: Vec::new(),
            failures: Vec::new(),
            research: ResearchState::default(),
            cache: CacheUse::default(),
            concierge: ConciergeState::default(),
            draft: None,
            findings: Vec::new(),
            repairs: 0,
            spent: TurnCost::default(),
            answer: None,
        })
    }

    /// What ibid says in the language of the conversation.
    pub(crate) fn texts(&self) -> &'static Texts {
        self.request.spoken.language.texts()
    }

    /// Whether the message names documents.
    pub(crate) fn names_documents(&self) -> bool {
        self.route.as_ref().is_some_and(|route| !route.documents.is_empty())
    }

    /// What may be read to answer it: of what the turn may see, the documents that the message names, if it names any.
    pub(crate) fn scope(&self) -> Scope {
        let named: BTreeSet<_> = self
            .route
            .iter()
            .flat_map(|route| &route.documents)
            .map(|document| document.id.clone())
            .collect();
        let documents = (!named.is_empty()).then_some(named);
        self.request.scope.clone().focused(Focus { documents, ..Focus::default() })
    }

    /// Whether it has to be found out what the message wants before anything else: it may be small talk, or name documents.
    pub(crate) fn needs_route(&self) -> bool {
        let text = &self.request.text;
        let is_reply = self.has_history() && smalltalk::is_reply(text);
        self.request.graph == GraphKind::Adaptive
            || (self.request.graph != GraphKind::Concierge
                && (mentions::has_any(text) || (!is_reply && smalltalk::is_smalltalk(text))))
    }

    /// Whether there is anything to understand the question by.
    pub(crate) fn has_history(&self) -> bool {
        self.request.history.iter().any(|message| message.role == Role::User)
    }

    /// Whether what is written goes through the checks of the graph `corrective`.
    pub(crate) fn is_research(&self) -> bool {
        self.request.graph == GraphKind::Corrective && !self.is_chat()
    }

    /// Whether the person only wants to talk.
    pub(crate) fn is_chat(&self) -> bool {
        let intent = self.route.as_ref().and_then(|route| route.intent);
        matches!(intent, Some(Intent::Chat | Intent::General))
    }

    /// Whether a model was shown what somebody else wrote: documents, results of tools, or answers made from them.
    pub(crate) fn holds_untrusted_text(&self) -> bool {
        !self.sources.is_empty() || self.rounds.len() > 1 || self.has_history()
    }

    /// Everything that the person said in the window.
    pub(crate) fn said_by_person(&self) -> String {
        let earlier = self.request.history.iter().filter(|message| message.role == Role::User);
        earlier
            .map(|message| message.text.as_str())
            .chain([self.request.text.as_str()])
            .collect::<Vec<_>>()
            .join("\n")
    }
}

impl State for TurnState {
    type Update = TurnUpdate;

    fn apply(&mut self, change: TurnUpdate) {
        match change {
            TurnUpdate::Condensed { question, phrasings, spent } => {
                self.question = question;
                self.phrasings = phrasings;
                self.spent = self.spent.and(spent);
            }
            TurnUpdate::Routed { route, question, spent } => {
                self.route = Some(route);
                self.question = question;
                self.spent = self.spent.and(spent);
            }
            TurnUpdate::Rewritten { question, searches, spent } => {
                self.question = question;
                self.searches = searches;
                self.spent = self.spent.and(spent);
            }
            TurnUpdate::Retrieved { passages, searched } => {
                if self.request.graph == GraphKind::Corrective {
                    self.research.begin_round(&searched);
                }
                take_after(&mut self.sources, passages, self.research.last_left_out());
                self.searched.extend(searched);
            }
            TurnUpdate::Planned { plan, beginnings, spent } => {
                take(&mut self.sources, beginnings);
                self.plan = plan;
                self.spent = self.spent.and(spent);
            }
            TurnUpdate::ToolCallsRequested { text, calls, spent } => {
                self.calls.clone_from(&calls);
                if !calls.is_empty() {
                    self.rounds.push(ToolRound { text, calls, results: Vec::new() });
                }
                self.spent = self.spent.and(spent);
            }
            TurnUpdate::ToolCallsAnswered { denied } => {
                for call in &mut self.calls {
                    call.denied = denied.contains(&call.id);
                }
            }
            TurnUpdate::ToolCallsFinished { results, spent } => {
                self.calls.clear();
                results.into_iter().for_each(|result| self.report(result));
                self.spent = self.spent.and(spent);
            }
            TurnUpdate::Drafted { draft, spent } => {
                if !self.findings.is_empty() {
                    self.repairs += 1;
                    self.findings.clear();
                }
                self.draft = Some(draft);
                self.spent = self.spent.and(spent);
            }
            TurnUpdate::Rejected { findings } => self.findings = findings,
            TurnUpdate::Graded { grades, spent } => {
                self.research.grade(&mut self.sources, grades);
                self.spent = self.spent.and(spent);
            }
            TurnUpdate::GroundingChecked { report, spent } => {
                self.research.grounding = report;
                self.spent = self.spent.and(spent);
            }
            TurnUpdate::Judged { round, spent } => {
                self.research.end_round(round, self.answer.as_ref());
                self.spent = self.spent.and(spent);
            }
            TurnUpdate::WebAnswered { agreed } => self.research.web.agreed = Some(agreed),
            TurnUpdate::WebSearched { pages, query, failure } => {
                self.research.web.is_searched = true;
                self.searched.extend((!pages.is_empty()).then_some(query));
                self.failures.extend(failure);
                for page in pages {
                    add_after(&mut self.sources, Origin::Web(page), self.research.last_left_out());
                }
            }
            TurnUpdate::RoundStarted { searches, spent } => {
                self.searches = searches;
                (self.draft, self.answer) = (None, None);
                self.spent = self.spent.and(spent);
            }
            TurnUpdate::LookedUp { generation } => self.cache.generation = generation,
            TurnUpdate::Recalled { answer, text, from } => self.cache.recalled = Some((*answer, text, from)),
            TurnUpdate::Remembered {} => {}
            TurnUpdate::Concierge(update) => {
                if let ConciergeUpdate::CategoryFound { passages, searched, .. } = &update {
                    take(&mut self.sources, passages.clone());
                    self.searched.extend(searched.clone());
                }
                if let ConciergeUpdate::Extracted { spent, .. } | ConciergeUpdate::PaymentRead { spent, .. } =
                    &update
                {
                    self.spent = self.spent.and(*spent);
                }
                self.concierge.apply(update);
            }
            TurnUpdate::Presented { answer, format, sources, spent } => {
                self.request.format = format;
                self.sources = sources;
                self.answer = Some(self.said(*answer));
                self.spent = self.spent.and(spent);
            }
            TurnUpdate::Answered { answer } => self.answer = Some(self.said(*answer)),
        }
    }
}

impl TurnState {
    /// A text as it is said: the last thing that is done to it.
    pub(crate) fn say<'t>(&self, text: impl Into<Cow<'t, str>>) -> String {
        let text = text.into();
        match self.request.links {
            Links::Inert => inert(&text).into_owned(),
            Links::AsWritten => text.into_owned(),
        }
    }

    /// An answer as it is said.
    fn said(&self, mut answer: Answer) -> Answer {
        if self.request.links == Links::Inert {
            answer.text = self.say(&answer.text);
            answer.checked.answer = self.say(&answer.checked.answer);
            answer.structured.iter_mut().for_each(inert_fields);
            for warning in &mut answer.checked.warnings {
                warning.text = self.say(&warning.text);
            }
        }
        answer
    }

    /// Takes what a tool gave back among the sources, and shows the model what it is called there.
    fn report(&mut self, result: ToolReport) {
        let nothing = result.origins.is_empty();
        let numbers = result.number(&mut self.sources);
        let mut shown = Vec::from_iter(result.note);
        match result.shown {
            Some(packed) => shown.extend(packed),
            None => {
                let own = self.sources.iter().filter(|source| numbers.contains(&source.number));
                shown.extend(own.map(Source::shown));
            }
        }
        let call = self.rounds.last().and_then(|round| round.calls.iter().find(|call| call.id == result.id));
        self.searched.extend(call.map(describe_call));
        if let Some(error) = result.error {
            if !result.refused {
                self.failures.push(format!("{}: {error}", result.name));
            }
            shown.push(format!("<error>\n{}\n</error>", harmless(&error)));
        } else {
            if nothing {
                shown.push("nothing was found".to_owned());
            }
            // A step is done when its tool has answered; a call does at most one step.
            let open = self.plan.iter_mut().find(|step| !step.done && step.action == result.name);
            if let Some(step) = open {
                step.done = true;
            }
        }
        if let Some(round) = self.rounds.last_mut() {
            round.results.push((result.id, shown.join("\n\n")));
        }
    }
}
