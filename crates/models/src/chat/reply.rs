//! The reply that a caller reads: the parts of the model's answer, and where a form was asked for, an answer
//! that has it. One that has not is told to the model once.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use ibid_core::model::{AnswerSchema, ChatPart, ChatRequest, ChatStream, Finish, ModelError, Usage};

use super::pieces::Pieces;
use super::remote::RemoteChat;
use super::{prompted, schema};

/// A reply while it is read.
pub(super) struct Reply {
    model: Arc<RemoteChat>,
    request: ChatRequest,
    pieces: Pieces,
    /// The text so far, kept if its form is to be checked.
    text: String,
    called: bool,
    repaired: bool,
    usage: Usage,
    /// Parts that are to come before anything else.
    next: Vec<ChatPart>,
    over: bool,
}

impl Reply {
    /// Asks a model, and comes back when it begins to answer.
    pub(super) async fn begin(
        model: Arc<RemoteChat>,
        request: ChatRequest,
        has_fallback: bool,
    ) -> Result<ChatStream, ModelError> {
        let (request, tokens) = model.fitted(request)?;
        let pieces = model.begin(&request, tokens, has_fallback).await?;
        // In a box, since it is handed from part to part.
        let reply = Box::new(Self {
            model,
            request,
            pieces,
            text: String::new(),
            called: false,
            repaired: false,
            usage: Usage::default(),
            next: Vec::new(),
            over: false,
        });
        Ok(stream::unfold(reply, |mut reply| async move { Some((reply.next().await?, reply)) }).boxed())
    }

    async fn next(&mut self) -> Option<Result<ChatPart, ModelError>> {
        loop {
            if let Some(part) = self.next.pop() {
                return Some(Ok(part));
            }
            if self.over {
                return None;
            }
            match self.pieces.next().await {
                Some(Ok(part)) => {
                    self.watch(&part);
                    return Some(Ok(part));
                }
                Some(Err(error)) => {
                    self.over = true;
                    return Some(Err(error));
                }
                None => {
                    let (finish, usage) = self.pieces.ended()?;
                    self.usage = self.usage.and(usage);
                    if let Err(error) = self.conclude(finish).await {
                        self.over = true;
                        return Some(Err(error));
                    }
                }
            }
        }
    }

    fn watch(&mut self, part: &ChatPart) {
        match part {
            ChatPart::Text(text) if self.request.schema.is_some() => self.text.push_str(text),
            ChatPart::Call(_) => self.called = true,
            _ => {}
        }
    }

    /// The model has said everything: either that is the end, or it is asked again.
    async fn conclude(&mut self, finish: Finish) -> Result<(), ModelError> {
        let end = ChatPart::End {
            finish: finish.clone(),
            usage: self.usage,
            model: self.model.settings.name.clone(),
        };
        // Whoever calls a tool is not done yet.
        let wanted = self.request.schema.clone().filter(|_| !self.called);
        let Some(wanted) = wanted else {
            self.finish_with([end]);
            return Ok(());
        };
        if finish == Finish::Filtered {
            let reason = format!("the provider withheld it: {}", self.text);
            return Err(ModelError::Form { model: self.model.settings.name.clone(), reason });
        }
        match schema::check(&wanted.schema, &self.text) {
            Ok(json) if json == self.text => self.finish_with([end]),
            Ok(json) => {
                let reason = "there was something around the JSON".to_owned();
                self.finish_with([ChatPart::Again { reason }, ChatPart::Text(json), end]);
            }
            Err(reason) if self.repaired => {
                return Err(ModelError::Form { model: self.model.settings.name.clone(), reason });
            }
            Err(reason) => self.repair(&wanted, reason).await?,
        }
        Ok(())
    }

    async fn repair(&mut self, wanted: &AnswerSchema, reason: String) -> Result<(), ModelError> {
        tracing::debug!(
            model = self.model.settings.name,
            reason,
            "the answer has not the form; asking once more"
        );
        let repair = prompted::repair(&reason, wanted);
        let (request, tokens) = self.model.repairing(self.request.clone(), &self.text, repair)?;
        self.pieces = self.model.begin(&request, tokens, false).await?;
        self.repaired = true;
        self.text.clear();
        self.next = vec![ChatPart::Again { reason }];
        Ok(())
    }

    fn finish_with<const N: usize>(&mut self, mut parts: [ChatPart; N]) {
        parts.reverse();
        self.next = parts.into();
        self.over = true;
    }
}
